// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"encoding/xml"
	"fmt"
)

// ovfEnvironment is an OVF environment (DMTF DSP0243, section 11): the properties of a machine, and on Azure a section of its own.
type ovfEnvironment struct {
	XMLName    xml.Name `xml:"Environment"`
	Properties []struct {
		Key   string `xml:"key,attr"`
		Value string `xml:"value,attr"`
	} `xml:"PropertySection>Property"`
	CustomData string `xml:"ProvisioningSection>LinuxProvisioningConfigurationSet>CustomData"`
}

// fromOVF returns the configuration in a property of an OVF environment, in base64. An environment without that property has none.
func fromOVF(_ documents, text []byte) ([]byte, error) {
	env, err := readOVF(text)
	if err != nil {
		return nil, err
	}

	for _, p := range env.Properties {
		if p.Key != "talos.config" && p.Key != "guestinfo.talos.config" || p.Value == "" {
			continue
		}

		out, err := decodeValue([]byte(p.Value), "")
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", p.Key, err)
		}

		return out, nil
	}

	return nil, nil
}

// fromCustomData returns the custom data of Azure, in base64.
func fromCustomData(_ documents, text []byte) ([]byte, error) {
	env, err := readOVF(text)
	if err != nil || env.CustomData == "" {
		return nil, err
	}

	out, err := decodeValue([]byte(env.CustomData), "base64")
	if err != nil {
		return nil, fmt.Errorf("custom data: %w", err)
	}

	return out, nil
}

func readOVF(text []byte) (env ovfEnvironment, err error) {
	if err := xml.Unmarshal(text, &env); err != nil {
		return env, fmt.Errorf("read the OVF environment: %w", err)
	}

	return env, nil
}
