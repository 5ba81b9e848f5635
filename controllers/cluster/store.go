// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// membersFile is on the volume STATE. Each line is a JSON object with its checksum in front, so that a line which is damaged takes no other
// with it.
const membersFile = "members"

// Limits of the file.
const (
	maxKept     = 5000
	maxKeptFile = 16 << 20
)

// past is what the file has.
type past struct {
	// ClusterID is the cluster that it is of.
	ClusterID string `json:"clusterID"`
	// Revision is that of this machine's last announcement, and Announced its content.
	Revision  uint64 `json:"revision"`
	Announced string `json:"announced"`

	others []cluster.AffiliateSpec
}

// encode returns the content of the file. It is the same for the same memory.
func (m past) encode() ([]byte, error) {
	var out bytes.Buffer

	line := func(value any) error {
		text, err := json.Marshal(value)
		if err == nil {
			fmt.Fprintf(&out, "%08x %s\n", crc32.ChecksumIEEE(text), text)
		}

		return err
	}

	if err := line(m); err != nil {
		return nil, fmt.Errorf("encode the members: %w", err)
	}

	others := slices.SortedFunc(slices.Values(m.others), func(a, b cluster.AffiliateSpec) int { return cmp.Compare(a.NodeID, b.NodeID) })

	for _, a := range others[:min(len(others), maxKept)] {
		if err := line(a); err != nil {
			return nil, fmt.Errorf("encode the members: %w", err)
		}
	}

	return out.Bytes(), nil
}

// decodePast reads the content of the file. It leaves out what is damaged, and counts it.
func decodePast(content []byte) (m past, damaged int) {
	seen := map[string]bool{}

	for i, line := range bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n")) {
		if len(content) == 0 || len(m.others) >= maxKept {
			break
		}

		text, ok := checked(line)

		switch {
		case !ok:
			damaged++
		case i == 0:
			if json.Unmarshal(text, &m) != nil {
				damaged++
			}
		default:
			var a cluster.AffiliateSpec

			if json.Unmarshal(text, &a) != nil || !nameOfMachine.MatchString(a.NodeID) || seen[a.NodeID] {
				damaged++

				continue
			}

			seen[a.NodeID] = true
			m.others = append(m.others, a)
		}
	}

	return m, damaged
}

// checked returns the text of a line, if it is whole.
func checked(line []byte) ([]byte, bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))

	var want [4]byte

	if n, err := hex.Decode(want[:], sum[:min(len(sum), 8)]); !ok || len(sum) != 8 || err != nil || n != 4 {
		return nil, false
	}

	got := crc32.ChecksumIEEE(text)

	return text, want == [4]byte{byte(got >> 24), byte(got >> 16), byte(got >> 8), byte(got)}
}

// load reads the file. Without it nothing is known. A file that cannot be read is an error, but one that a machine goes on without.
func load(path string) (m past, damaged int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, 0, nil
	}

	if err != nil {
		return m, 0, fmt.Errorf("read the members: %w", err)
	}
	defer f.Close()

	content, err := io.ReadAll(io.LimitReader(f, maxKeptFile))
	if err != nil {
		err = fmt.Errorf("read the members: %w", err)
	}

	m, damaged = decodePast(content)

	return m, damaged, err
}

// store replaces the file.
func store(path string, content []byte) error {
	if err := durable.Write(path, content, 0o600); err != nil {
		return fmt.Errorf("store the members: %w", err)
	}

	return nil
}
