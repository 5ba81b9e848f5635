// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"path/filepath"
	"strings"
)

// ReadHardware reads what the firmware says from a sysfs. Values that the firmware does not have are empty.
func ReadHardware(sys string) Hardware {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(sys, "class/dmi/id", name))
		if err != nil {
			return "" // a computer without SMBIOS has no such file
		}

		return strings.TrimSpace(string(text))
	}

	return Hardware{UUID: strings.ToLower(read("product_uuid")), Serial: read("product_serial"), Vendor: read("sys_vendor")}
}
