/**
 * Compaction: a provider of this dialect replaces a conversation with items that only it can read. Request
 * and answer are passed through; other providers have no equivalent.
 */

import { GatewayError } from '../../core/errors.ts'
import { PrintedJson } from '../../core/reply.ts'
import { compactRequest } from './direct.ts'
import { encodeResponse } from './encode.ts'
import { responsesInput, type ResponsesContext } from './input.ts'
import { responsesUses } from './provider-uses.ts'
import { replaceResponseTexts } from './replace-texts.ts'
import { responsesSizes } from './sizes.ts'
import { responsesDirectTexts } from './text-places.ts'
import { readStored } from './stored-input.ts'
import { CompactRequest } from '../../../schemas/responses.ts'
import type { ResponseArchive } from './archive.ts'
import type { Dialect } from '../dialect.ts'

/** @param archive of the responses that a conversation continues */
export function compaction (archive?: ResponseArchive): Dialect<typeof CompactRequest, ResponsesContext> {
  return {
    schema: CompactRequest,
    sizes: responsesSizes,
    input: call =>
      readStored(call, archive)?.then(stored => responsesInput(call, { stored })) ?? responsesInput(call),
    fit: () => {
      throw unavailable().with({ fault: 'unsupported' })
    },
    direct: {
      dialect: 'responses',
      request: compactRequest,
      uses: responsesUses,
      texts: responsesDirectTexts
    },
    stored: { continues: ({ stored }) => stored.continuation?.id },
    replaceTexts: (call, replace) => replaceResponseTexts(call, replace, {}),
    encode: encodeResponse,
    complete: (_start, batches) => {
      for (const { events } of batches) {
        for (const event of events) if (event.type === 'direct-answer') return new PrintedJson(event.json)
      }
      throw unavailable()
    }
  }
}

function unavailable (): GatewayError {
  return new GatewayError('not_found', {
    message: 'Compaction is available for models of OpenAI only. Send a shorter conversation as `input`.'
  })
}
