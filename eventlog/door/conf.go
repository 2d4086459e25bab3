package door

import (
	"fmt"

	"github.com/tachobench/tacho/events"
)

// Conf returns a collector's account for the block "accounts" in the configuration file of an external NATS server,
// with a user for the public key. The account of the core needs CoreExports, once.
func Conf(name events.CollectorName, publicKey, core string) string {
	return Account(name, core, "{ nkey: "+publicKey+" }")
}

// Account is Conf for a user in the syntax of the configuration file, such as "{ user: eider-1, password: $PASSWORD }".
// core is the name of the core's account.
func Account(name events.CollectorName, core, user string) string {
	return fmt.Sprintf(`  %q: {
    users: [ %s ]
    imports: [
      { service: { account: %s, subject: %q } }
      { service: { account: %s, subject: %q } }
    ]
    limits: { max_connections: %d, max_subscriptions: %d, max_payload: %d }
  }
`, name, user, core, Prefix+"."+string(name)+".>", core, ReadPrefix+"."+string(name)+".>",
		MaxConnections, MaxSubscriptions, MaxRequest)
}

// CoreExports returns the entry "exports" of the core's account. account_token_position ties each import to the name of
// the importing account: a file in which one collector imports another's part does not load.
func CoreExports() string {
	return fmt.Sprintf(`    exports: [
      { service: %q, response_type: singleton, threshold: %q, account_token_position: 3 }
      { service: %q, response_type: stream, threshold: %q, account_token_position: 3 }
    ]
`, Prefix+".*.>", AnswerWithin, ReadPrefix+".*.>", AnswerWithin)
}

// The bounds of one collector's account.
const (
	// MaxConnections leaves room for the collector, its supervisor, and the dead connections of each after the network
	// breaks.
	MaxConnections   = 8
	MaxSubscriptions = 64
)
