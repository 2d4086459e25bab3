// Package suite reads the definitions of a project, checks them, names them by digest and expands a request into its
// jobs.
//
// Definitions are data: one strict TOML file says which targets, kinds of job, profiles, backends, scenarios, metrics
// and benchmarks exist (see Definitions). No toolchain is named here. A file goes this way:
//
//	file ──Load──▶ Definitions ──Canonical──▶ event ──Parse──▶ Definitions
//	     Problems     │    │ Digest
//	                  │    └──────────────▶ named by every job
//	                  ├──Normalise──▶ parameters of a request, as the file spells them
//	                  ├──Template───▶ graph, options and branch of a request, from what it chooses
//	                  ├──Expansion──▶ jobs of the request, and those it wishes of its parent; what is switched off, and why
//	                  └──Plan───────▶ what one job measures, in order
//
// Load refuses a bad file and reports every problem in it, each with its line and column. Parse does not check again
// what was published once, so a stricter checker never makes an old request unreadable. The canonical form is JSON with
// sorted keys and no white space; the digest is its SHA-256. A new field in the structs must be left out of the JSON
// when it is empty, or every digest changes.
//
// Options, graphs and branches decide which jobs are made, and nothing else: a job is the same job whatever was chosen. All
// of it is a function of its arguments: the same definitions and the same request give the same bytes.
//
// The chain of a benchmark is its scenarios in the order of the file. Each begins where the one before it ended, so a
// warm or patched scenario is always planned after one that filled the cache.
package suite
