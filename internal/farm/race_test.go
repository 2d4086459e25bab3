//go:build race

package farm

// simulated is how many requests the long simulation runs under the race detector, which makes it eight times slower.
const simulated = 100

// lives is how many random lives are run under the race detector.
const lives = 4

// graphLogs is how many random logs of graphs are looked at under the race detector.
const graphLogs uint64 = 1

// retriggers is how many are asked for at once under the race detector.
const retriggers = 100
