import { refine, type RoutedCall } from '../core/call.ts'
import type { PlaceTable } from '../json/place-table.ts'
import type { RequestTexts } from './request-texts.ts'

/**
 * Returns how texts are replaced in a request that is sent as it is at this point, by a table of its places.
 */
export function textsAt<R extends object> (places: PlaceTable): RequestTexts<R> {
  return {
    replaceTexts: (call: RoutedCall<R>, replace) => {
      const request = places.replace(call.request, replace)
      if (request === call.request) return call
      // what a project keeps is what is left
      call.record.bodies?.takeRequest([Buffer.from(JSON.stringify(request))])
      return refine(call, { request })
    }
  }
}
