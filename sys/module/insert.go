// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/sys/unix"
)

// maxModule is the largest size of an unpacked module in bytes.
const maxModule = 256 << 20

// insertFile loads a module into the kernel: a plain one as a file, so that the kernel can check where it comes from, and a compressed
// one as unpacked bytes, because not every kernel can unpack modules.
func insertFile(file, params string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()

	if strings.HasSuffix(file, ".ko") {
		return unix.FinitModule(int(f.Fd()), params, 0)
	}

	image, err := Unpack(file, f)
	if err != nil {
		return err
	}

	return unix.InitModule(image, params)
}

// Unpack returns an uncompressed module. The suffix of the file name selects the decoder.
func Unpack(file string, r io.Reader) ([]byte, error) {
	image, err := decompress(file, r)
	if err != nil {
		return nil, fmt.Errorf("unpack kernel module %s: %w", file, err)
	}

	return image, nil
}

func decompress(file string, r io.Reader) ([]byte, error) {
	var plain io.Reader

	switch {
	case strings.HasSuffix(file, ".ko"):
		plain = r
	case strings.HasSuffix(file, ".ko.xz"):
		x, err := xz.NewReader(r)
		if err != nil {
			return nil, err
		}

		plain = x
	case strings.HasSuffix(file, ".ko.zst"):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer z.Close()

		plain = z
	default:
		return nil, errors.New("not a kernel module (want .ko, .ko.xz or .ko.zst)")
	}

	image, err := io.ReadAll(io.LimitReader(plain, maxModule+1))
	if err != nil {
		return nil, err
	}

	if len(image) > maxModule {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxModule)
	}

	return image, nil
}
