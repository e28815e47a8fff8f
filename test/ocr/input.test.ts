import t from 'tap'
import { rejectUnansweredParameters } from '../../lib/ocr/input.ts'

t.test('a parameter is refused only if it asks for something', async t => {
  rejectUnansweredParameters({ pages: '0', include_blocks: false, extract_header: null })
  for (const param of ['include_blocks', 'extract_header', 'bbox_annotation_format']) {
    t.throws(() => rejectUnansweredParameters({ [param]: {} }), { code: 'unsupported_parameter', param })
  }
})
