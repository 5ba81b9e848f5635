// SPDX-License-Identifier: Apache-2.0

package podimages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/service/container"
)

type message []byte

func (m message) with(number protowire.Number, content []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), content)
}

func (m message) text(number protowire.Number, text string) message {
	return m.with(number, []byte(text))
}

// TestRequest reads a request, and changes its image only.
func TestRequest(t *testing.T) {
	const name, digested = "example.com/app:1", "example.com/app@sha256:00"

	spec := func(image string, after bool) message {
		rest := message(nil).with(2, message(nil).text(1, "annotation")).text(18, name).text(19, "handler")
		if after {
			return append(rest, message(nil).text(1, image)...)
		}

		return append(message(nil).text(1, image), rest...)
	}

	auth := message(nil).text(1, "robot").text(2, "secret").text(4, "https://example.com/v1/").text(5, "token").text(9, "unknown")
	sandbox := message(nil).text(1, "sandbox")
	request := message(nil).with(1, spec(name, false)).with(2, auth).with(3, sandbox)

	got, err := parse(request)
	want := pull{name, &container.Login{Host: "example.com", Credential: container.Credential{Username: "robot", Password: "secret", IdentityToken: "token"}}}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pull{}), cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("got %v, %s", err, diff)
	}

	changed, err := withImage(request, digested)
	if diff := cmp.Diff([]byte(message(nil).with(1, spec(digested, true)).with(2, auth).with(3, sandbox)), changed); err != nil || diff != "" {
		t.Errorf("got %v, %s", err, diff)
	}

	if got, err := parse(message(nil).with(1, spec(name, false))); err != nil || got.login != nil {
		t.Errorf("without a login: got %+v, %v", got, err)
	}

	// An empty login is one: the machine's own does not count.
	if got, err := parse(message(nil).with(1, spec(name, false)).with(2, nil)); err != nil || got.login == nil {
		t.Errorf("with an empty login: got %+v, %v", got, err)
	}

	// Protobuf decoders take the last one.
	twice := append(message(nil).with(1, spec("example.com/other:1", false)), message(nil).with(1, spec(name, false))...)
	if got, err := parse(twice); err != nil || got.image != name {
		t.Errorf("two images: got %+v, %v", got, err)
	}

	if changed, err := withImage(twice, digested); err != nil {
		t.Error(err)
	} else if got, err := parse(changed); err != nil || got.image != digested {
		t.Errorf("two images, changed: got %+v, %v", got, err)
	}

	for _, bad := range []message{nil, message(nil).with(3, sandbox), {0xff}, message(nil).text(1, "\xff")} {
		if got, err := parse(bad); err == nil {
			t.Errorf("%x: got %+v, want an error", []byte(bad), got)
		}
	}
}

// FuzzRequest changes any request that can be read, so that only the new image is in it.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(message(nil).with(1, message(nil).text(1, "example.com/app:1")).with(2, message(nil).text(1, "robot"))))
	f.Add([]byte{0x0a, 0x00})
	f.Add([]byte{0x0b, 0x0c})

	f.Fuzz(func(t *testing.T, request []byte) {
		p, err := parse(request)
		if err != nil {
			return
		}

		changed, err := withImage(request, "new")
		if err != nil {
			t.Fatalf("it can be read, but not changed: %v", err)
		}

		after, err := parse(changed)
		if err != nil || after.image != "new" {
			t.Errorf("got %+v, %v", after, err)
		}

		if diff := cmp.Diff(p.login, after.login); diff != "" {
			t.Error(diff)
		}
	})
}
