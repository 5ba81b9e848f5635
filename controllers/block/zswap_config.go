// SPDX-License-Identifier: Apache-2.0

package block

import (
	"strconv"

	configview "github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// zswapParams is where the parameters of zswap are, as the id of a kernel parameter.
const zswapParams = "sys.module.zswap.parameters."

// ZswapConfigController turns the document ZswapConfig into kernel parameters. A kernel without zswap shows them as unsupported.
func ZswapConfigController() controller.Controller {
	return fromconfig.Many("block.ZswapConfigController", controller.Shared, func(cfg *configview.Config) (map[string]runtime.KernelParamSpecSpec, error) {
		z := cfg.Zswap()
		if z == nil {
			return nil, nil
		}

		return map[string]runtime.KernelParamSpecSpec{
			zswapParams + "enabled":          {Value: "Y", IgnoreErrors: true},
			zswapParams + "max_pool_percent": {Value: strconv.Itoa(z.MaxPoolPercent), IgnoreErrors: true},
			zswapParams + "shrinker_enabled": {Value: kernelBool(z.Shrinker), IgnoreErrors: true},
		}, nil
	})
}

// kernelBool is how the kernel writes a parameter that is on or off.
func kernelBool(on bool) string {
	if on {
		return "Y"
	}

	return "N"
}
