// Package match decides which machine can run which job: it reads what a job requires, says what a machine lacks of it,
// and keeps what is reserved on a machine.
//
// # Terms
//
// A requirement is a list of terms. All of them must hold:
//
//	arch= machine= os= pool=   the machine has one of the names; of several terms, a name that is in all of them
//	trait=nvme                 it has the trait; of several, all
//	device=gpu device=gpu:2    so many are free; of several, the sum for each name
//	memory=8g                  so much is free: 8, 8g and 8G are GiB, 8192m is MiB; of several, the largest
//	cpus=4                     so many are free; of several, the largest
//	exclusive                  nothing else runs on the machine meanwhile
//
// The request, its queue, the kind of job and its target may all have terms. Join makes one requirement of them. It
// never widens: what meets the joined terms meets the terms of each part.
//
// # Canonical form
//
// Terms returns a requirement as sorted terms, each said in one way: memory in GiB if it is a whole number of them,
// else in MiB, and one device without its number. Two requirements are the same class exactly if these are equal.
//
// # What a machine lacks, and what it has no room for
//
// Lacks compares a requirement with an empty machine: what it names is missing as long as the machine stays what it is.
// Room knows the open places of a machine: what Short names is missing until one of them ends. A machine without a lack
// that is empty has room. Nothing is measured: a place reserves what its job requires until it is over.
//
// A size that a machine does not state is not known, so a job that asks for some of it does not fit.
package match
