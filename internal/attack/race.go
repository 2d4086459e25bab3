//go:build race

package attack

import "time"

// laneTakes is how long a job of another lane may take beside a flood, with the race detector in all of the servers.
const laneTakes = 3 * time.Second
