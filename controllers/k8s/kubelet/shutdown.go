// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"time"
)

// ShutdownGracePeriod returns the longest time that a kubelet with this KubeletConfiguration gives its pods when the machine goes down: one
// period for all pods, or one period for each priority, one after the other. It is zero when the kubelet does not end pods.
func ShutdownGracePeriod(config map[string]any) time.Duration {
	var wanted struct {
		ShutdownGracePeriod              string
		ShutdownGracePeriodByPodPriority []struct{ ShutdownGracePeriodSeconds int64 }
	}

	raw, err := json.Marshal(config)
	if err != nil || json.Unmarshal(raw, &wanted) != nil {
		return 0 // the kubelet refuses it too
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
