//go:build !race && soak

package farm

// simulated is how many requests the long simulation runs.
const simulated = 10_000

// lives is how many random lives are run.
const lives = 100

// graphLogs is how many random logs of graphs are compared.
const graphLogs uint64 = 8

// everySize says that each of them is compared in transactions of every size.
const everySize = true

// retriggers is how many are asked for at once.
const retriggers = 1000
