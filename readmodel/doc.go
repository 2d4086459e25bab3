// Package readmodel opens the tables that the log is folded into, migrates them, and holds their rows and the SELECTs of readers.
//
// # Rows
//
// A row of a table is one struct, for the projector that writes it, for the queries and for their answers. A tag of
// each field names its column (see Tables). The lists of columns in statements are made from the tags, so no statement
// repeats them (see Fill). The projector starts only if tables and structs agree (see Check). A query fails
// unless each column that it returns has a field, and each field a column.
//
// # Schemas
//
// The tables live in a schema of their own, a generation ("tacho_g1"). The schema "tacho" holds only
// views of one generation, the live one, and the row that names it. A rebuild fills the next generation
// beside the live one, and Publish points all views to it in one transaction: readers see the old tables or
// the new ones, never a mixture.
//
//	tacho.generation     which generation is live
//	tacho.job_queue …    views of the live generation; what readers and tacho_reader see
//	tacho_g1.job_queue … tables; the projector alone writes them
//
// # Readers
//
// A Reader reads the views. It does so in the role tacho_reader, if that role could be made: this role may only
// SELECT. As a second line of defence its sessions are read-only. What belongs together on one page (Status, a request
// with its jobs) is read in one snapshot.
//
// Reads that take long go through the Reader that Long returns. It has a few connections of its own, so a page never
// waits for a connection that a long read holds.
//
// After each transaction the projector notifies Channel with the sequence that it reached. One connection of the
// Reader listens for all who wait. If it breaks, the Reader makes a new one and reads the cursor again, so a missed
// notification delays nobody for ever.
package readmodel
