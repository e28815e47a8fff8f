/** What the sandbox answers to, by method and path. A further endpoint is one file and one line. */

import { chatCompletions } from './chat-completions.ts'
import type { SandboxOptions } from './options.ts'
import type { Script } from './script.ts'
import type { UpstreamRequest } from '../provider.ts'

/** @throws Refusal for a request that a provider would refuse */
export type SandboxRoute = (request: UpstreamRequest, options: SandboxOptions) => Script

export const routes: ReadonlyMap<string, SandboxRoute> = new Map([
  ['POST /chat/completions', chatCompletions]
])
