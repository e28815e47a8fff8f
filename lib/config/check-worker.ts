/** Checks a draft of the configuration in a worker thread: a megabyte of YAML takes seconds. */

import { parentPort, workerData } from 'node:worker_threads'
import { checkDraft, type Draft } from './check-draft.ts'

parentPort?.postMessage(checkDraft(workerData as Draft)) // set by `live-configuration`
