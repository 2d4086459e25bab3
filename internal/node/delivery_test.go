package node

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// Every caller may begin a delivery, but none can hold a connection by never ending it.
func TestADeliveryHasToArriveInTime(t *testing.T) {
	read := make(chan error, 1)
	s := httptest.NewServer(inTime(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}), 50*time.Millisecond))
	defer s.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /webhook/github HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
