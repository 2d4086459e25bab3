package match_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// large is a requirement of as many terms as there may be, and a machine that meets it.
func large(b *testing.B) (match.Requirement, match.Offer) {
	o := eider()
	terms := strings.Fields("os=linux arch=x86_64 pool=big,small machine=eider-1,eider-2,eider-3 memory=8g cpus=2 device=gpu")
	for i := len(terms); i < match.MaxTerms; i++ {
		trait := fmt.Sprint("t", i)
		o.Traits = append(o.Traits, trait)
		terms = append(terms, "trait="+trait)
	}
	return parse(b, strings.Join(terms, " ")), o
}

func BenchmarkLacks(b *testing.B) {
	r, o := large(b)
	b.ReportAllocs()
	for b.Loop() {
		if len(match.Lacks(r, events.Master, o)) > 0 {
			b.Fatal("the machine lacks something")
		}
	}
}

func BenchmarkFits(b *testing.B) {
	r, o := large(b)
	room := match.NewRoom(o)
	room.Reserve(r)
	b.ReportAllocs()
	for b.Loop() {
		if !room.Fits(r) {
			b.Fatal("there is no room")
		}
	}
}

func BenchmarkReserveAndFree(b *testing.B) {
	r, o := large(b)
	room := match.NewRoom(o)
	b.ReportAllocs()
	for b.Loop() {
		room.Reserve(r)
		room.Free(r)
	}
}

func BenchmarkParse(b *testing.B) {
	r, _ := large(b)
	terms := r.Terms()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := match.Parse(terms); err != nil {
			b.Fatal(err)
		}
	}
}
