// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// Memory implements machine.MachineService; the values are the kernel's, in KiB.
func (s *Server) Memory(context.Context, *emptypb.Empty) (*machine.MemoryResponse, error) {
	raw, err := os.ReadFile(s.path("proc/meminfo"))
	if err != nil {
		return nil, fileError("memory", err)
	}

	return &machine.MemoryResponse{Messages: []*machine.Memory{{Meminfo: parseMeminfo(raw)}}}, nil
}

// parseMeminfo fills the message by its field names, which are the kernel's in lower case without punctuation:
// Active(anon) is activeanon. Unknown fields and values that are not numbers are left out.
func parseMeminfo(raw []byte) *machine.MemInfo {
	info := &machine.MemInfo{}
	fields := info.ProtoReflect().Descriptor().Fields()

	for line := range bytes.Lines(raw) {
		key, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}

		field := fields.ByName(protoreflect.Name(strings.NewReplacer("(", "", ")", "", "_", "").Replace(strings.ToLower(key))))
		parts := strings.Fields(value)

		if field == nil || len(parts) == 0 {
			continue
		}

		if n, err := strconv.ParseUint(parts[0], 10, 64); err == nil {
			info.ProtoReflect().Set(field, protoreflect.ValueOfUint64(n))
		}
	}

	return info
}
