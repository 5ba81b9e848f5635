// SPDX-License-Identifier: Apache-2.0

package interop_test

import (
	"testing"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/controller/conformance"
	"github.com/cosi-project/runtime/pkg/controller/runtime"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/protobuf/client"
	"github.com/stretchr/testify/suite"
	"go.uber.org/zap/zaptest"
)

// TestRuntime runs the reference's controller runtime with our server, by the reference's suite. Each test of the suite gets
// its own server.
func TestRuntime(t *testing.T) {
	for _, register := range []func() error{
		func() error {
			return protobuf.RegisterResource(conformance.IntResourceType, &conformance.IntResource{})
		},
		func() error {
			return protobuf.RegisterResource(conformance.StrResourceType, &conformance.StrResource{})
		},
		func() error {
			return protobuf.RegisterResource(conformance.SentenceResourceType, &conformance.SentenceResource{})
		},
	} {
		if err := register(); err != nil {
			t.Fatal(err)
		}
	}

	for name, args := range stores {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, &conformance.RuntimeSuite{
				SetupRuntime: func(s *conformance.RuntimeSuite) {
					s.State = state.WrapCore(client.NewAdapter(v1alpha1.NewStateClient(start(s.T(), args(s.T())...))))

					var err error

					s.Runtime, err = runtime.NewRuntime(s.State, zaptest.NewLogger(s.T()))
					s.Require().NoError(err)
				},
				TearDownRuntime: func(*conformance.RuntimeSuite) {},
			})
		})
	}
}
