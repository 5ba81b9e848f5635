// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) {
	// A UDP flow out of the lab ends 90 s after its last datagram.
	leak.Main(m, "github.com/containers/gvisor-tap-vsock/pkg/services/forwarder.(*UDPProxy).replyLoop")
}
