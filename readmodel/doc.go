// Package readmodel opens the tables that the log is folded into, migrates them, and holds their rows and the SELECTs of readers.
//
// # Rows
//
// A row of a table is one struct, for the projector that writes it, for the queries and for their answers. A tag of
// each field names its column (see Tables); lists of columns in statements are made of the tags, so no statement
// repeats them (see Fill). The projector starts only where tables and structs agree (see Check). A query fails
// unless each column that it returns has a field, and each field a column.
//
// # Schemas
//
// The tables live in a schema of their own, a generation ("tacho_g1"). The schema "tacho" holds nothing but
// views of one generation, the live one, and the row that names it. A rebuild fills the next generation
// beside the live one, and Publish points all views to it in one transaction: readers see the old tables or
// the new ones, and never a mixture.
//
//	tacho.generation     which generation is live
//	tacho.job_queue …    views of the live generation; what readers and tacho_reader see
//	tacho_g1.job_queue … tables; the projector alone writes them
//
// # Readers
//
// A Reader reads the views, in the role tacho_reader where that role could be made: it may SELECT and nothing
// else. As a second line its sessions are read-only. What belongs together on one page (Status, a request with
// its jobs) is read in one snapshot.
//
// Reads that take long go through the Reader that Long returns: it has few connections of its own, so that a page never
// waits for one that such a read holds.
//
// The projector notifies each transaction on Channel with the sequence that it reached. One connection of the
// Reader listens for all who wait; when it breaks it is made anew, and the cursor is read again, so that a
// notification that was missed delays nobody for ever.
package readmodel
