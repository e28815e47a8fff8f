/**
 * A provider that reads and discards whatever it is sent, and answers with a transcript or a page, by the
 * path. Run as `node sink-provider.js <port>`.
 */

import { createServer } from 'node:http'

createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(request.url?.includes('ocr') === true
      ? { pages: [{ index: 0, markdown: 'A page.' }], model: 'm', usage_info: { pages_processed: 1 } }
      : { text: 'Some words.' }))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
