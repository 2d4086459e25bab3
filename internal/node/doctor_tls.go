package node

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/tlsfiles"
)

// renewBefore is how long before its end a certificate should be renewed.
const renewBefore = 14 * 24 * time.Hour

// doctorTLS reads the certificates that the configuration names.
func (h *Host) doctorTLS() (out []Finding) {
	n := h.Config.NATS
	for _, pair := range []struct{ what, cert, key string }{
		{"TLS of the website", h.Config.TLS.Cert, h.Config.TLS.Key},
		{"TLS of the log's server", n.Cert, n.Key},
		{"TLS of clients of the log", n.ClientCert, n.ClientKey},
	} {
		if pair.cert == "" {
			continue
		}
		f := Finding{What: pair.what, Verdict: "good"}
		opened, err := tlsfiles.OpenPair(pair.cert, pair.key, h.Logger)
		if err != nil {
			f.Verdict, f.Detail = "bad", err.Error()
			out = append(out, f)
			continue
		}
		f.Detail = fmt.Sprintf("%s, valid until %s", pair.cert, opened.Until().UTC().Format(time.DateOnly))
		if left := opened.Until().Sub(h.Clock()); left < renewBefore {
			f.Verdict, f.Next = "note", fmt.Sprintf("it expires in %s: renew it in place; Tacho reads it again by itself", phrase.Count(int(left.Hours()/24), "day"))
		}
		out = append(out, f)
	}
	for _, ca := range []struct{ what, file string }{
		{"CA of the server", h.Config.ServerCA},
		{"CA of the log's server", n.CA},
		{"CA of the log's clients", n.ClientCA},
	} {
		if ca.file == "" {
			continue
		}
		f := Finding{What: ca.what, Verdict: "good", Detail: ca.file}
		if _, err := tlsfiles.OpenAuthorities(h.Logger, ca.file); err != nil {
			f.Verdict, f.Detail = "bad", err.Error()
		}
		out = append(out, f)
	}
	return out
}
