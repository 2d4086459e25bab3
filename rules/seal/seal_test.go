package seal

import (
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var write = flag.Bool("write-golden", false, "write the forms in testdata that are missing")

func key(t testing.TB, name string) *Private {
	t.Helper()
	var seed [ed25519.SeedSize]byte
	copy(seed[:], name)
	k, err := New(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func trust(t testing.TB, keys ...*Private) Keys {
	t.Helper()
	var texts []string
	for _, k := range keys {
		texts = append(texts, k.Public().String())
	}
	out, err := ParseKeys(texts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const digest = events.Digest("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

// full has a value in every field, so that a field that is added later is missed here.
func full() events.JobDispatched {
	lane := events.PoolLane("builders", 2)
	return events.JobDispatched{Place: 7, Job: events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: "rustc", Tag: "v2", Kind: events.Master}, Kind: "compile", Target: "linux", Set: 3,
		Backend: "llvm", Profile: "opt", Benchmarks: []string{"hello*"}, Optional: true, Definitions: digest, RequestID: "r1", Backfill: true,
		Round: 2, Measures: []string{"primary"}, Matched: true, Requires: []string{"exclusive"}, On: &lane,
		Against: &events.Artifact{Suite: "rustc", Tag: "v1", Kind: events.Master}, Caches: []string{"ccache"}, Sample: "r1-2-1", Iterations: 30,
	}}
}

// building has what full lacks: what builds and chunks have.
func building() events.JobDispatched {
	d := full()
	d.Job.Recipe, d.Job.Tokens = digest, &events.Tokens{Min: 2, Max: 8, Got: 6}
	d.Job.Checkouts = []events.Checkout{{Repository: "https://example.org/llvm.git", Revision: "0123456789abcdef0123456789abcdef01234567", Path: "llvm"}}
	d.Job.Chunk = &events.Chunk{Number: 2, Of: 4, Units: []events.Benchmark{"regex"}, Part: 300}
	d.Job.Inputs = []events.Input{{Output: events.Output{Name: "toolchain", Digest: digest, Bytes: 1 << 20}, JobID: "j2", Kind: "build", Lane: events.PoolLane("builders", 1)}}
	return d
}

func static() events.JobDispatched {
	return events.JobDispatched{Place: 1, Job: events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: "go", Tag: "<go1.26>&", Kind: events.Release}, Kind: "compile", Target: "linux", Set: 0,
		Backend: "gc", Profile: "opt", Definitions: digest, RequestID: "r1",
	}}
}

func TestFormsAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, form := range map[string][]byte{
		"definitions": definitionsForm("rustc", digest),
		"matched":     dispatchForm(full().Job.Lane(), full().Place, full().Job),
		"building":    dispatchForm(building().Job.Lane(), building().Place, building().Job),
		"static":      dispatchForm(static().Job.Lane(), static().Place, static().Job),
	} {
		file := "testdata/" + name + ".form"
		want, err := os.ReadFile(file)
		if os.IsNotExist(err) && *write {
			want, err = form, os.WriteFile(file, form, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(form) {
			t.Errorf("%s:\n%s\nthe golden file has\n%s\nseals that were made before would be refused", name, form, want)
		}
	}
}

// A field that is added to JobSpec later must be left out of the form when it is not used.
func TestEveryFieldOfAJobIsInTheForm(t *testing.T) {
	spec := reflect.ValueOf(building().Job)
	for i := range spec.NumField() {
		field := spec.Type().Field(i)
		if spec.Field(i).IsZero() {
			t.Errorf("%s is not set by full: set it", field.Name)
		}
		_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if i > 11 && options != "omitempty" {
			t.Errorf("%s has no omitempty: old seals would be refused", field.Name)
		}
	}
}

func TestADispatchThatWasChangedIsRefused(t *testing.T) {
	k := key(t, "scheduler")
	trusted := trust(t, k)
	for _, d := range []events.JobDispatched{full(), building(), static()} {
		d.Seal = k.Dispatch(d)
		err := trusted.CheckDispatch(d.Job.Lane(), d)
		if err != nil {
			t.Fatal(err)
		}
		// What changes nothing of what is executed may change.
		free := d
		free.Closes, free.Since, free.Attempt, free.Lost, free.Share = true, "2026-11-23T12:00:00Z", 3, 1, &events.Share{Account: "alice"}
		if err := trusted.CheckDispatch(d.Job.Lane(), free); err != nil {
			t.Error(err)
		}
		moved := d
		moved.Place++
		if trusted.CheckDispatch(d.Job.Lane(), moved) == nil {
			t.Error("another place was accepted")
		}
		if trusted.CheckDispatch(events.Lane{Target: "linux", Set: 9}, d) == nil {
			t.Error("another lane was accepted")
		}
		for _, changed := range changes(reflect.ValueOf(d.Job)) {
			other := d
			other.Job = changed.Interface().(events.JobSpec)
			if trusted.CheckDispatch(d.Job.Lane(), other) == nil {
				t.Errorf("a changed job was accepted: %+v", other.Job)
			}
		}
	}
}

// changes returns copies of v, each with one leaf changed.
func changes(v reflect.Value) (out []reflect.Value) {
	put := func(change func(reflect.Value)) {
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		change(c)
		out = append(out, c)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			for _, field := range changes(v.Field(i)) {
				put(func(c reflect.Value) { c.Field(i).Set(field) })
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			put(func(c reflect.Value) { c.Set(reflect.New(v.Type().Elem())) })
			break
		}
		put(func(c reflect.Value) { c.SetZero() })
		for _, elem := range changes(v.Elem()) {
			put(func(c reflect.Value) {
				p := reflect.New(elem.Type())
				p.Elem().Set(elem)
				c.Set(p)
			})
		}
	case reflect.Slice:
		put(func(c reflect.Value) {
			c.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.New(v.Type().Elem()).Elem()))
		})
		if v.Len() > 0 {
			put(func(c reflect.Value) { c.SetZero() })
		}
		for i := range v.Len() {
			for _, elem := range changes(v.Index(i)) {
				put(func(c reflect.Value) {
					c.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
					c.Index(i).Set(elem)
				})
			}
		}
	case reflect.String:
		put(func(c reflect.Value) { c.SetString(v.String() + "x") })
	case reflect.Bool:
		put(func(c reflect.Value) { c.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int64:
		put(func(c reflect.Value) { c.SetInt(v.Int() + 1) })
	default:
		panic(fmt.Sprintf("no change of %s", v.Kind()))
	}
	return out
}

func drawDispatch(t *rapid.T) events.JobDispatched {
	text := rapid.StringMatching(`[a-z<&"\\\x{2028}é/*.-]{0,8}`)
	texts := rapid.SliceOfN(text, 0, 3)
	d := events.JobDispatched{Place: rapid.Uint64().Draw(t, "place"), Job: events.JobSpec{
		ID: events.JobID(text.Draw(t, "id")), Artifact: events.Artifact{Suite: events.SuiteName(text.Draw(t, "suite")), Tag: events.Tag(text.Draw(t, "tag"))},
		Kind: events.JobKind(text.Draw(t, "kind")), Target: events.Target(text.Draw(t, "target")), Set: events.Set(rapid.IntRange(0, 1<<40).Draw(t, "set")),
		Benchmarks: texts.Draw(t, "benchmarks"), Definitions: digest, Matched: rapid.Bool().Draw(t, "matched"), Requires: texts.Draw(t, "requires"),
		Iterations: rapid.IntRange(0, 1<<60).Draw(t, "iterations"),
	}}
	if rapid.Bool().Draw(t, "on") {
		d.Job.On = &events.Lane{Target: events.Target(text.Draw(t, "pool")), Set: events.Set(rapid.IntRange(0, 9).Draw(t, "slot"))}
	}
	return d
}

func TestSealsSurviveTheLog(t *testing.T) {
	k := key(t, "scheduler")
	trusted := trust(t, k)
	rapid.Check(t, func(t *rapid.T) {
		d := drawDispatch(t)
		d.Seal = k.Dispatch(d)
		stored, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var read events.JobDispatched
		if err := json.Unmarshal(stored, &read); err != nil {
			t.Fatal(err)
		}
		if err := trusted.CheckDispatch(d.Job.Lane(), read); err != nil {
			t.Errorf("%v: %s", err, stored)
		}
		all := changes(reflect.ValueOf(read.Job))
		read.Job = rapid.SampledFrom(all).Draw(t, "changed").Interface().(events.JobSpec)
		if trusted.CheckDispatch(d.Job.Lane(), read) == nil {
			t.Errorf("a changed job was accepted: %+v", read.Job)
		}
	})
}

func TestDefinitionsNeedTheSealOfAPublisher(t *testing.T) {
	alice, bob := key(t, "alice"), key(t, "bob")
	trusted := trust(t, alice)
	good := *alice.Definitions("rustc", digest)
	other := events.Digest(strings.Repeat("0", 64))
	broken := good
	broken.Signature = "!"
	for name, c := range map[string]struct {
		suite  events.SuiteName
		digest events.Digest
		seals  []events.Seal
		want   string
	}{
		"sealed":             {"rustc", digest, []events.Seal{good}, ""},
		"one of several":     {"rustc", digest, []events.Seal{broken, *bob.Definitions("rustc", digest), good}, ""},
		"none":               {"rustc", digest, nil, "have no seal: publish them"},
		"a stranger's":       {"rustc", digest, []events.Seal{*bob.Definitions("rustc", digest)}, bob.Public().ID + ", which is none"},
		"of another suite":   {"go", digest, []events.Seal{good}, "is wrong"},
		"of another digest":  {"rustc", other, []events.Seal{good}, "is wrong"},
		"damaged":            {"rustc", digest, []events.Seal{broken}, "is wrong"},
		"of a dispatch":      {"rustc", digest, []events.Seal{*alice.Dispatch(full())}, "is wrong"},
		"a digest of a line": {"rustc", "x\ny", []events.Seal{good}, "not named by a digest"},
		"a name of a line":   {"rustc", digest, []events.Seal{{Key: "k\nx", Signature: good.Signature}}, "a key without a right name"},
	} {
		err := trusted.CheckDefinitions(c.suite, c.digest, c.seals)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if CheckContent("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", nil) != nil || CheckContent(digest, nil) == nil {
		t.Error("content is not compared with its digest")
	}
	if none := (*Private)(nil); none.Definitions("rustc", digest) != nil || none.Dispatch(full()) != nil {
		t.Error("no key made a seal")
	}
}

func TestADispatchNeedsTheSealOfADispatcher(t *testing.T) {
	alice, bob := key(t, "alice"), key(t, "bob")
	trusted := trust(t, alice)
	d := full()
	for want, s := range map[string]*events.Seal{
		"has no seal":                       nil,
		bob.Public().ID + ", which is none": bob.Dispatch(d),
		"is not what was sealed":            alice.Definitions("rustc", digest),
	} {
		d.Seal = s
		err := trusted.CheckDispatch(d.Job.Lane(), d)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAPrivateKeyIsNeverShown(t *testing.T) {
	k := key(t, "alice")
	words := strings.Fields(k.Secret())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		text := fmt.Sprintf(verb, k)
		if strings.Contains(text, words[2]) || !strings.Contains(text, k.Public().ID) {
			t.Errorf("%s: %s", verb, text)
		}
	}
	text, err := json.Marshal(map[string]any{"key": k})
	if err != nil || string(text) != `{"key":{}}` {
		t.Errorf("%s %v", text, err)
	}
	for _, wrong := range []string{k.Secret() + " x", strings.Replace(k.Secret(), " ", " x", 2), words[2]} {
		_, err := ParsePrivate(wrong)
		if err == nil || strings.Contains(err.Error(), words[2]) {
			t.Errorf("%v", err)
		}
	}
	_, err = ParseKeys([]string{k.Secret()})
	if err == nil || !strings.Contains(err.Error(), "it is a private key") || strings.Contains(err.Error(), words[2]) {
		t.Errorf("%v", err)
	}
	_, err = ParsePrivate(k.Public().String())
	if err == nil || !strings.Contains(err.Error(), "it is a public key") {
		t.Errorf("%v", err)
	}
	_, err = ParseKeys([]string{k.Public().String(), k.Public().String()})
	if err == nil {
		t.Error("a key was taken twice")
	}
}

func FuzzParseKeys(f *testing.F) {
	k := key(f, "alice")
	f.Add(k.Public().String())
	f.Add(k.Secret())
	f.Add("tacho-seal-public-1 k0011223344556677 AAAA x")
	f.Add(" \n")
	f.Fuzz(func(t *testing.T, text string) {
		public, err := ParsePublic(text)
		if err == nil {
			again, err := ParsePublic(public.String())
			if err != nil || again.String() != public.String() || again.ID != idOf(again.key) {
				t.Errorf("%q became %q: %v", text, public, err)
			}
		}
		private, secret := ParsePrivate(text)
		if secret == nil {
			again, err := ParsePrivate(private.Secret())
			if err != nil || again.Secret() != private.Secret() {
				t.Error("a private key changed")
			}
		}
		if err == nil && secret == nil {
			t.Errorf("%q is both halves", text)
		}
	})
}

func FuzzParseSeal(f *testing.F) {
	k := key(f, "alice")
	f.Add(Text(*k.Definitions("rustc", digest)))
	f.Add("k0011223344556677:AA==")
	f.Add(":")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err == nil && Text(s) != text {
			t.Errorf("%q became %q", text, Text(s))
		}
		// Whatever it says, it is none of ours.
		id, signature, _ := strings.Cut(text, ":")
		d := full()
		d.Seal = &events.Seal{Key: id, Signature: signature}
		if trust(t, k).CheckDispatch(d.Job.Lane(), d) == nil {
			t.Errorf("%q was accepted", text)
		}
	})
}

// BenchmarkCheck compares what the seals of a job cost with what two signatures alone cost: "ratio" is the quotient.
func BenchmarkCheck(b *testing.B) {
	k := key(b, "alice")
	trusted := trust(b, k)
	d := full()
	d.Seal = k.Dispatch(d)
	seals := []events.Seal{*k.Definitions("rustc", digest)}
	form := dispatchForm(d.Job.Lane(), d.Place, d.Job)
	signature := ed25519.Sign(k.key, form)
	verify := func() {
		for range 2 {
			if !ed25519.Verify(k.public.key, form, signature) {
				b.Fatal("refused")
			}
		}
	}
	check := func() {
		if trusted.CheckDispatch(d.Job.Lane(), d) != nil || trusted.CheckDefinitions("rustc", digest, seals) != nil {
			b.Fatal("refused")
		}
	}
	b.Run("job", func(b *testing.B) {
		var alone, job time.Duration
		for b.Loop() { // in turn, so that what else the machine does slows both down
			alone += took(verify)
			job += took(check)
		}
		b.ReportMetric(float64(job)/float64(b.N), "job-ns/op")
		b.ReportMetric(float64(job)/float64(alone), "ratio")
	})
	b.Run("sign", func(b *testing.B) {
		for b.Loop() {
			k.Dispatch(d)
		}
	})
}

func took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
