package cli

import (
	"testing"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/datadir"
)

// The token of a data directory is sent only to this machine, whatever server is named.
func TestTheTokenOfADirectoryStaysOnThisMachine(t *testing.T) {
	d := datadir.Dir(t.TempDir())
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	for address, sent := range map[string]bool{
		"http://127.0.0.1:8421": true, "http://[::1]:8421": true, "http://localhost:8421": true,
		"http://10.0.0.7:8421": false, "http://tacho.example": false, "https://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		p := &Program{config: config.Config{Server: address, Data: string(d)}}
		if got := p.token(address); got != when(sent, token) {
			t.Errorf("%s is sent the token: %v, want %v", address, got != "", sent)
		}
	}
}
