/** The dialect of OpenAI's Responses API. */

import { ResponsesRequest } from '../../../schemas/responses.ts'
import { responseReply } from './complete.ts'
import { directRequest } from './direct.ts'
import { encodeResponse } from './encode.ts'
import { fitRequest } from './fit.ts'
import { responsesInput, type ResponsesContext } from './input.ts'
import { responsesUses } from './provider-uses.ts'
import { replaceResponseTexts, withoutTokens } from './replace-texts.ts'
import { responsesSizes } from './sizes.ts'
import { responsesDirectTexts } from './text-places.ts'
import { readStored, type StoredInput } from './stored-input.ts'
import type { ResponseArchive } from './archive.ts'
import type { Dialect, DialectCall } from '../dialect.ts'

/**
 * Creates the dialect.
 *
 * @param archive stores responses; without it nothing is stored
 */
export function responsesDialect (
  archive?: ResponseArchive
): Dialect<typeof ResponsesRequest, ResponsesContext> {
  return {
    schema: ResponsesRequest,
    sizes: responsesSizes,
    input: call => {
      const input = (stored?: StoredInput): DialectCall<ResponsesContext> =>
        responsesInput(call, { archive, stored })
      return readStored(call, archive)?.then(input) ?? input()
    },
    fit: fitRequest,
    directDialect: 'responses',
    directRequest,
    directTexts: responsesDirectTexts,
    continues: ({ stored }) => stored.continuation?.id,
    replaceTexts: (call, replace) => replaceResponseTexts(call, replace, { archive }),
    asTextAnswer: call => withoutTokens(call, { archive }),
    runsLater: ({ request }) => request.background === true,
    isStored: ({ keep }) => keep !== undefined,
    uses: responsesUses,
    encode: encodeResponse,
    complete: responseReply
  }
}
