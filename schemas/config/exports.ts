/** `usage.exports` of `headgate.yaml`: hourly or daily files of usage rows. */

import { Type } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, HttpUrl, Named, Text } from './entries.ts'
import { Secret } from './secret.ts'

const S3Config = Closed(
  {
    endpoint: Type.Optional(
      HttpUrl('Address of the service. Default: that of Amazon S3 in `region`.')
    ),
    bucket: Type.String({
      pattern: '^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$',
      patternErrorMessage: 'must be 3 to 63 lower-case letters, digits, dots and hyphens',
      description: 'Name of the bucket, which must exist.'
    }),
    region: Type.String({
      default: 'us-east-1',
      pattern: '^[a-z0-9-]{1,63}$',
      patternErrorMessage: 'must be lower-case letters, digits and hyphens',
      description: 'Region that requests are signed for.'
    }),
    prefix: Type.String({
      default: '',
      pattern: '^([A-Za-z0-9_=-][A-Za-z0-9._=-]*/)*$',
      patternErrorMessage:
        'must be empty or folders such as usage/, of letters, digits, dots, hyphens, `_` and `=`',
      description: 'Put in front of the name of each file; ends in a slash.'
    }),
    access_key: Secret('Id of the access key.'),
    secret_key: Secret('The secret access key.')
  },
  { description: 'A bucket of Amazon S3 or of a service that is compatible with it.' }
)

const UsageExportConfig = Closed({
  directory: Type.Optional(
    Text('Folder that files are written to, which must exist; relative to the configuration file.')
  ),
  s3: Type.Optional(S3Config),
  format: OneOf(['csv', 'jsonl'], {
    default: 'csv',
    description: 'A table with a header row, or a JSON object per line.'
  }),
  gzip: Type.Boolean({ default: false, description: 'Compress files.' }),
  every: OneOf(['hour', 'day'], { default: 'day', description: 'Period that one file covers: an hour or a day, in UTC.' }),
  columns: Type.Optional(
    Type.Array(Text('Name of a column.'), {
      minItems: 1,
      uniqueItems: true,
      description:
        'Columns of the records, in this order. Default: all, as `headgate usage export` prints them.'
    })
  )
}, { description: 'An export, to `directory` or `s3`.' })

export const UsageExportsConfig = Named(
  UsageExportConfig,
  'Files of usage records, each with the records of an hour or a day, to a folder or a bucket, ' +
    'by a name of your choice. Default: none.',
  {
    pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
    patternErrorMessage: 'a name is up to 64 lower-case letters, digits, `_` and `-`'
  }
)
