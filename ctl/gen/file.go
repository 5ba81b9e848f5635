// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// stdout is the path of the standard output.
const stdout = "-"

// write writes a file that only its owner can read, or writes to out if the path is "-".
func write(out io.Writer, path string, text []byte, force bool) error {
	if path == stdout {
		_, err := out.Write(text)

		return err
	}

	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}

	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return alreadyExists(path)
	}

	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}

	errMode := file.Chmod(0o600) // of an existing file
	_, err = file.Write(text)

	if err = errors.Join(errMode, err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}

// refuseExisting returns an error for each path that exists, unless force is set.
func refuseExisting(paths []string, force bool) error {
	if force {
		return nil
	}

	var errs []error

	for _, path := range paths {
		if _, err := os.Lstat(path); path != stdout && err == nil {
			errs = append(errs, alreadyExists(path))
		}
	}

	return errors.Join(errs...)
}

func alreadyExists(path string) error {
	return fmt.Errorf("file %q already exists, use --force to overwrite", path)
}
