//go:build !race

package attack

import "time"

// laneTakes is how long a job of another lane may take beside a flood.
const laneTakes = time.Second
