// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"time"
)

// ShutdownGracePeriod is the longest that a kubelet of this KubeletConfiguration gives its pods when the machine goes down: by
// one period for all, or by one for each priority, one after the other. It is zero when the kubelet ends none.
func ShutdownGracePeriod(config map[string]any) time.Duration {
	var wanted struct {
		ShutdownGracePeriod              string
		ShutdownGracePeriodByPodPriority []struct{ ShutdownGracePeriodSeconds int64 }
	}

	raw, err := json.Marshal(config)
	if err != nil || json.Unmarshal(raw, &wanted) != nil {
		return 0 // what the kubelet refuses, too
	}

	sum, err := time.ParseDuration(wanted.ShutdownGracePeriod)
	if err != nil {
		sum = 0
	}

	for _, p := range wanted.ShutdownGracePeriodByPodPriority {
		sum += time.Duration(p.ShutdownGracePeriodSeconds) * time.Second
	}

	return sum
}
