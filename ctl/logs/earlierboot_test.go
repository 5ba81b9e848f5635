// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/seed-59268b81/talos/client"
)

func TestEarlierBoot(t *testing.T) {
	for number, want := range map[int]string{0: "", -2: "-2"} {
		ctx := (&earlierBoot{number: number}).of(client.WithNode(t.Context(), "one"))
		md, _ := metadata.FromOutgoingContext(ctx)

		if got := strings.Join(md.Get("talos-boot"), ","); got != want || md.Get("node")[0] != "one" {
			t.Errorf("boot %d: got metadata %v, want %q and the node", number, md, want)
		}
	}
}
