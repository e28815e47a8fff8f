/**
 * Gives tests the `fetch` of the package undici where that of Node.js is older than version 7: a timer of one
 * of its connections may fire after the connection was collected, and its error then fails whichever test
 * runs.
 */

import { install } from 'undici'

if (Number(process.versions['undici']?.split('.')[0]) < 7) install()
