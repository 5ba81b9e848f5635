// SPDX-License-Identifier: Apache-2.0

package protoenc_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

type route struct {
	Destination netip.Prefix  `protobuf:"1"`
	Priority    uint32        `protobuf:"3"`
	Expires     time.Duration `protobuf:"4"`
}

// A plain struct becomes a message, and is decoded from one that has fields it does not know.
func Example() {
	message, err := protoenc.Marshal(route{Destination: netip.MustParsePrefix("192.0.2.0/24"), Priority: 1024})
	if err != nil {
		panic(err)
	}

	fmt.Printf("%x\n", message)

	var r route

	if err := protoenc.Unmarshal(append(message, 0x28, 1), &r); err != nil {
		panic(err)
	}

	fmt.Println(r.Destination, r.Priority, r.Expires)
	// Output:
	// 0a080a04c00002001018188008
	// 192.0.2.0/24 1024 0s
}
