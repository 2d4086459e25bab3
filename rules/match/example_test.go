package match_test

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// A requirement is written in terms. Each way to write one comes to the same canonical form.
func ExampleParse() {
	r, err := match.Parse([]string{"trait=nvme", "memory=8192m", "os=linux", "trait=nvme"})
	fmt.Println(r, err)
	_, err = match.Parse([]string{"memory=8q"})
	fmt.Println(err)
	// Output:
	// memory=8g os=linux trait=nvme <nil>
	// term "memory=8q": write memory=8 or memory=8g for 8 GiB, memory=8192m for MiB, at most 64 TiB
}

// All parts must hold. So a part can ask for more, and cannot take back what another one asks for.
func ExampleJoin() {
	kind, _ := match.Parse([]string{"memory=8g", "machine=eider-1,eider-2"})
	request, _ := match.Parse([]string{"memory=2g", "machine=eider-2,eider-3"})
	r, err := match.Join(match.Named{Who: "kind compile", Requirement: kind}, match.Named{Who: "the request", Requirement: request})
	fmt.Println(r, err)
	request, _ = match.Parse([]string{"machine=eider-3"})
	_, err = match.Join(match.Named{Who: "kind compile", Requirement: kind}, match.Named{Who: "the request", Requirement: request})
	fmt.Println(err)
	// Output:
	// machine=eider-2 memory=8g <nil>
	// machine=eider-1,eider-2 (kind compile) and machine=eider-3 (the request): they exclude one another
}

// A job that no machine could run is refused, and the nearest machine says why.
func ExampleCheck() {
	r, _ := match.Parse([]string{"trait=nvme", "memory=40g"})
	fmt.Println(match.Check("compile/x86_64/0", r, events.Master, []match.Offer{
		{Machine: "eider-2", MemoryMiB: 16 << 10},
		{Machine: "eider-3", MemoryMiB: 32 << 10},
	}))
	fmt.Println(match.Check("compile/x86_64/0", r, events.Master, nil))
	// Output:
	// no machine can run compile/x86_64/0: eider-3 comes nearest, it lacks trait nvme and 8 GiB of memory
	// no machine can run compile/x86_64/0: none is registered for matched jobs, add one: tacho machine add
}

// A place reserves what its job requires until it is over.
func ExampleRoom() {
	small, _ := match.Parse([]string{"memory=6g", "device=gpu"})
	alone, _ := match.Parse([]string{"exclusive"})
	room := match.NewRoom(match.Offer{Machine: "eider-3", MemoryMiB: 8 << 10, Slots: 4, Devices: map[string]int{"gpu": 1}})
	room.Reserve(small)
	fmt.Println(room.Open(), room.FreeMemoryMiB(), room.Fits(small), match.Sentence(room.Short(small)))
	fmt.Println(match.Sentence(room.Short(alone)))
	room.Free(small)
	room.Reserve(alone)
	fmt.Println(match.Sentence(room.Short(small)))
	// Output:
	// 1 2048 false it lacks 1 free gpu device and 4 GiB of free memory
	// it has 1 job, and this one runs alone
	// it is held by a job that runs alone
}
