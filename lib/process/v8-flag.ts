/**
 * Sets the one V8 flag of the gateway. Imported before everything else, for its effect: V8 reads flags safely
 * only before it has run much code.
 *
 * V8 learns which allocation sites give long-lived objects and allocates them in old space from then on. Here
 * it learns that from calls that wait for a provider, and gets it wrong: a complete call with its answer then
 * lives until the next full collection. Without it a JSON call takes 20 % less CPU time. `NODE_OPTIONS` does
 * not take this flag.
 */

import { setFlagsFromString } from 'node:v8'

export const v8Flag = '--no-allocation-site-pretenuring'

setFlagsFromString(v8Flag)
