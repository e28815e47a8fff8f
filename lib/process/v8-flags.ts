/**
 * Sets V8 flags. Imported before everything else, for its effect.
 *
 * `--no-allocation-site-pretenuring`: V8 learns which allocation sites give long-lived objects and allocates them in old
 * space from then on. Here it learns that from calls that wait for a provider, and gets it wrong: what such an object
 * holds, a complete call with its answer, then lives until the next full collection. With the flag, 2.5 % of all
 * garbage is promoted instead of 8, a JSON call takes 20 % less CPU time and the process 40 MB less memory.
 *
 * `--interrupt-budget`: a function is compiled by the optimizing compiler once it has run a number of bytecodes. With an
 * eighth of the default number, an event of a stream costs what it will cost after 2 seconds of full load instead of 5,
 * and a gateway answers half as many JSON calls more in its first 1.5 seconds; what they cost later stays the same.
 * Only the V8 of Node.js 20 knows this flag; later ones write an error to standard error.
 */

import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--no-allocation-site-pretenuring')
if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=10000')
