// SPDX-License-Identifier: Apache-2.0

package interop_test

import (
	"testing"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/conformance"
	"github.com/cosi-project/runtime/pkg/state/protobuf/client"
	"github.com/stretchr/testify/suite"
)

// TestState runs the reference's suite for states with the reference's client and our server.
func TestState(t *testing.T) {
	if err := protobuf.RegisterResource(conformance.PathResourceType, &conformance.PathResource{}); err != nil {
		t.Fatal(err)
	}

	for name, args := range stores {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, &conformance.StateSuite{
				State:      state.WrapCore(client.NewAdapter(v1alpha1.NewStateClient(start(t, args(t)...)))),
				Namespaces: []resource.Namespace{"default", "controller", "system", "runtime"},
			})
		})
	}
}
