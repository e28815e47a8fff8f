/** Checks a draft of the configuration beside the main thread: a megabyte of YAML takes seconds. */

import { parentPort, workerData } from 'node:worker_threads'
import { checkDraft, type Draft } from './check-draft.ts'

parentPort?.postMessage(checkDraft(workerData as Draft)) // as `live-configuration` wrote it
