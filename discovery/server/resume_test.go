// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/server"
)

// ours watches as our clients do, and returns the mode, the messages of the beginning, and its end.
func ours(t testing.TB, api serverapi.ClusterClient, resume string, d *extension.Digest) (string, []string, extension.Place) {
	t.Helper()

	ctx := metadata.AppendToOutgoingContext(t.Context(), extension.KeyResume, resume)
	if d != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, extension.KeyDigest, string(d.Encode()))
	}

	w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "c"}, grpc.ForceCodecV2(extension.Codec{}))
	if err != nil {
		t.Fatal(err)
	}

	header, err := w.Header()
	if err != nil {
		t.Fatal(err)
	}

	boot, err := extension.ParseBoot(strings.Join(header.Get(extension.KeyBoot), ""))
	if err != nil {
		t.Fatal(err)
	}

	var members []string

	for {
		var raw extension.Raw

		if err := w.RecvMsg(&raw); err != nil {
			t.Fatal(err)
		}

		m, err := extension.DecodeResponse(raw)
		if err != nil {
			t.Fatal(err)
		}

		for _, a := range m.Members {
			members = append(members, a.ID)
		}

		if m.End {
			slices.Sort(members)

			return header.Get(extension.KeyMode)[0], members, extension.Place{Boot: boot, Sequence: m.Sequence}
		}
	}
}

func TestResume(t *testing.T) {
	_, connect := inMemory(t, server.Options{})
	api := connect()

	d := &extension.Digest{Buckets: make([]uint32, 16)}

	for _, id := range []string{"a", "b"} {
		must(t, api, update(id, "1", time.Minute))
		d.Add(extension.Slot(id), extension.Hash[string](id, []byte("1"), nil))
	}

	mode, got, place := ours(t, api, "", nil)
	if diff := cmp.Diff([]string{"a", "b"}, got); mode != extension.ModeSnapshot || diff != "" {
		t.Errorf("%s (-want +got):\n%s", mode, diff)
	}

	if mode, got, _ := ours(t, api, place.String(), nil); mode != extension.ModeResume || len(got) > 0 {
		t.Errorf("resumed: %s, %v", mode, got)
	}

	elsewhere := extension.Place{Sequence: 99}

	if mode, got, _ := ours(t, api, elsewhere.String(), d); mode != extension.ModeEqual || len(got) > 0 {
		t.Errorf("equal digest: %s, %v", mode, got)
	}

	must(t, api, update("new", "1", time.Minute))

	if mode, got, _ := ours(t, api, place.String(), nil); mode != extension.ModeResume || !slices.Equal(got, []string{"new"}) {
		t.Errorf("resumed after a change: %s, %v", mode, got)
	}

	if mode, got, _ := ours(t, api, elsewhere.String(), d); mode != extension.ModeDifference || !slices.Contains(got, "new") {
		t.Errorf("another digest: %s, %v", mode, got)
	}

	if mode, got, _ := ours(t, api, extension.Place{Boot: place.Boot, Sequence: 1 << 40}.String(), nil); mode != extension.ModeSnapshot || len(got) != 3 {
		t.Errorf("a place that does not exist: %s, %v", mode, got)
	}

	// Whatever a client sends, it gets an answer.
	for _, md := range []metadata.MD{metadata.Pairs(extension.KeyResume, "nonsense"), metadata.Pairs(extension.KeyResume, "", extension.KeyDigest, "x")} {
		w, err := api.Watch(metadata.NewOutgoingContext(t.Context(), md), &serverapi.WatchRequest{ClusterId: "c"})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := w.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v, want InvalidArgument", md, err)
		}
	}
}
