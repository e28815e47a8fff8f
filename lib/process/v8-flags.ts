/**
 * Sets V8 flags, except those that the operator has set. Imported before everything else, for its effect.
 *
 * `--no-allocation-site-pretenuring`: V8 learns which allocation sites give long-lived objects and allocates them in old
 * space from then on. Here it learns that from calls that wait for a provider, and gets it wrong: what such an object
 * holds, a complete call with its answer, then lives until the next full collection. With the flag, 2.5 % of all
 * garbage is promoted instead of 8, a JSON call takes 20 % less CPU time and the process 40 MB less memory.
 *
 * `--heap-growing-percent`: see `old-generation`, which changes it later.
 */

import { usualGrowth } from './old-generation.ts'
import { setV8Flag } from './set-v8-flag.ts'

setV8Flag('--no-allocation-site-pretenuring')
setV8Flag(`--heap-growing-percent=${usualGrowth}`)
