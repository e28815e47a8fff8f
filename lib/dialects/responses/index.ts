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
    direct: {
      dialect: 'responses',
      request: directRequest,
      uses: responsesUses,
      texts: responsesDirectTexts
    },
    stored: {
      continues: ({ stored }) => stored.continuation?.id,
      isStored: ({ keep }) => keep !== undefined,
      runsLater: ({ request }) => request.background === true
    },
    replaceTexts: (call, replace) => replaceResponseTexts(call, replace, { archive }),
    asTextAnswer: call => withoutTokens(call, { archive }),
    encode: encodeResponse,
    complete: responseReply
  }
}
