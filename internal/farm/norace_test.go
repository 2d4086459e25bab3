//go:build !race && !soak

package farm

// simulated is how many requests the simulation runs in each check. make soak runs a month of them.
const simulated = 1_000

// lives is how many random lives are run.
const lives = 8

// graphLogs is how many random logs of graphs are compared.
const graphLogs uint64 = 8

// everySize says that each of them is compared in transactions of every size. make soak does so.
const everySize = false

// retriggers is how many are asked for at once.
const retriggers = 1000
