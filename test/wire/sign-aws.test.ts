import { hash } from 'node:crypto'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { encodePath, printQuery, signAws, type AwsRequest } from '../../lib/wire/sign-aws.ts'

// The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const key = {
  accessKey: new Secret('AKIAIOSFODNN7EXAMPLE'),
  secretKey: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
  region: 'us-east-1'
}
const host = 'examplebucket.s3.amazonaws.com'
const empty = hash('sha256', '')

function signatureOf (request: AwsRequest): string | undefined {
  return /Signature=(\w+)$/.exec(signAws(request, key, Date.UTC(2013, 4, 24))['authorization'] ?? '')?.[1]
}

void t.test('requests are signed as in the S3 documentation', async t => {
  t.equal(
    signatureOf({
      method: 'GET',
      host,
      path: '/test.txt',
      headers: { range: 'bytes=0-9' },
      bodyDigest: empty
    }),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41'
  )
  t.equal(
    signatureOf({
      method: 'PUT',
      host,
      path: encodePath('/test$file.text'),
      bodyDigest: hash('sha256', 'Welcome to Amazon S3.'),
      headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' }
    }),
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd'
  )
  t.equal(
    signatureOf({ method: 'GET', host, path: '/', query: { lifecycle: '' }, bodyDigest: empty }),
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'
  )
  t.equal(
    signatureOf({
      method: 'GET',
      host,
      path: '/',
      query: { prefix: 'J', 'max-keys': '2' },
      bodyDigest: empty
    }),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'
  )
})

void t.test('a request to another service is signed as by the AWS SDK for Python', async t => {
  const body = '{"messages":[]}'
  const headers = signAws(
    {
      method: 'POST',
      host: 'bedrock-runtime.us-east-1.amazonaws.com',
      path: `/model/${encodePath('anthropic.claude-v2:1')}/converse`,
      headers: { 'content-type': 'application/json' },
      bodyDigest: hash('sha256', body)
    },
    { ...key, service: 'bedrock' },
    Date.UTC(2026, 0, 2, 3, 4, 5)
  )
  t.match(
    headers['authorization'],
    /\/20260102\/us-east-1\/bedrock\/aws4_request,.*Signature=aca21602caf7b71e4cd2a0b193e57dbc35be438b9fd4766201af10dc1b2df5e2$/
  )
})

void t.test('the headers list what is signed, without the secret key', async t => {
  const headers = signAws(
    { method: 'GET', host, path: '/', bodyDigest: empty, headers: { range: 'bytes=0-9' } },
    key,
    Date.UTC(2013, 4, 24)
  )
  t.match(headers, { range: 'bytes=0-9', 'x-amz-date': '20130524T000000Z', 'x-amz-content-sha256': empty })
  t.match(
    headers['authorization'],
    /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=\w{64}$/
  )
  t.notMatch(JSON.stringify(headers), key.secretKey.reveal())
})

void t.test('paths and queries are encoded as they are signed', async t => {
  t.equal(encodePath('/a b/c=d/é\'(!)*~.csv'), '/a%20b/c%3Dd/%C3%A9%27%28%21%29%2A~.csv')
  t.equal(printQuery({ uploadId: 'a/b+c', partNumber: '2' }), 'partNumber=2&uploadId=a%2Fb%2Bc')
  t.equal(printQuery({ 'part-number': '1', part: '2' }), 'part=2&part-number=1', 'by name, not by pair')
})
