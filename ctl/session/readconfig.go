// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config"
)

// ReadConfig reads a machine configuration from a file; - is standard input.
func ReadConfig(cmd *cobra.Command, path string) (text []byte, err error) {
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), config.MaxSize+1))
	} else {
		text, err = os.ReadFile(path)
	}

	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}

	return text, nil
}
