/** The endpoints of the sandbox, by method and path. Another endpoint needs one file and one line. */

import { chatCompletions } from './chat-completions.ts'
import { embeddings } from './embeddings.ts'
import { changeImages, makeImages } from './images.ts'
import { readDocuments } from './ocr.ts'
import { speak } from './speech.ts'
import { transcribe, translate } from './transcriptions.ts'
import type { SandboxOptions } from './options.ts'
import type { Script } from './script.ts'
import type { SendOptions, UpstreamRequest } from '../providers/provider.ts'

/** @throws SandboxRefusal for a request that a provider would refuse */
export type SandboxRoute = (
  request: UpstreamRequest,
  options: SandboxOptions,
  sending: SendOptions
) => Script | Promise<Script>

export const routes: ReadonlyMap<string, SandboxRoute> = new Map<string, SandboxRoute>([
  ['POST /chat/completions', chatCompletions],
  ['POST /images/generations', makeImages],
  ['POST /images/edits', changeImages],
  ['POST /images/variations', changeImages],
  ['POST /audio/speech', speak],
  ['POST /audio/transcriptions', transcribe],
  ['POST /audio/translations', translate],
  ['POST /ocr', readDocuments],
  ['POST /embeddings', embeddings]
])
