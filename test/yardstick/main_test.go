// SPDX-License-Identifier: Apache-2.0

//go:build linux

package yardstick

import (
	"testing"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
