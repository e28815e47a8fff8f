/**
 * Gives tests the `fetch` of the package undici if that of Node.js is older than version 7: there a timer of
 * a connection may fire after the connection was garbage-collected, and its error then fails whichever test
 * runs.
 */

import { install } from 'undici'

if (Number(process.versions['undici']?.split('.')[0]) < 7) install()
