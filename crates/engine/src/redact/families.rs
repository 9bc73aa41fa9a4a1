//! Credentials recognised by their own shape, and the table that says at which bytes of a text each rule runs.

use super::rules::TOKENS;
use super::{MARK, Scan, Span, assigned, commands, is_blank, is_word, spoken, value};

macro_rules! kinds {
    ($($kind:ident $name:literal)*) => {
        /// Purpose of a credential, as far as its shape or its name shows it.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kind { $($kind),* }

        impl Kind {
            /// Returns the word used in the credential's replacement.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),* }
            }

            #[cfg(test)]
            pub(super) const ALL: &[Kind] = &[$(Kind::$kind),*];
        }
    };
}

kinds! {
    AdafruitKey "adafruit-key"
    AgeKey "age-key"
    AirtableToken "airtable-token"
    AlibabaKey "alibaba-key"
    AnthropicKey "anthropic-key"
    ApiKey "api-key"
    ArtifactoryToken "artifactory-token"
    AtlassianToken "atlassian-token"
    Authorization "authorization"
    AwsKey "aws-key"
    AwsSecret "aws-secret"
    AzureKey "azure-key"
    BitbucketToken "bitbucket-token"
    BrevoKey "brevo-key"
    BuildkiteToken "buildkite-token"
    CircleCiToken "circleci-token"
    ClojarsToken "clojars-token"
    CloudflareToken "cloudflare-token"
    ContentfulToken "contentful-token"
    Cookie "cookie"
    CratesIoToken "crates-io-token"
    DatabricksToken "databricks-token"
    DenoToken "deno-token"
    DigitalOceanToken "digitalocean-token"
    DiscordToken "discord-token"
    DockerToken "docker-token"
    DopplerToken "doppler-token"
    DropboxToken "dropbox-token"
    DuffelToken "duffel-token"
    DynatraceToken "dynatrace-token"
    EasyPostKey "easypost-key"
    ElevenLabsKey "elevenlabs-key"
    FacebookToken "facebook-token"
    FigmaToken "figma-token"
    FirecrawlKey "firecrawl-key"
    FlutterwaveKey "flutterwave-key"
    FlyToken "fly-token"
    FrameIoToken "frameio-token"
    GithubToken "github-token"
    GitlabToken "gitlab-token"
    GoogleKey "google-key"
    GoogleOauth "google-oauth"
    GrafanaToken "grafana-token"
    GroqKey "groq-key"
    HerokuKey "heroku-key"
    HubSpotToken "hubspot-token"
    HuggingFaceToken "huggingface-token"
    JinaKey "jina-key"
    Jwt "jwt"
    LangSmithKey "langsmith-key"
    LinearKey "linear-key"
    MailchimpKey "mailchimp-key"
    MailgunKey "mailgun-key"
    MapboxToken "mapbox-token"
    NetlifyToken "netlify-token"
    NewRelicKey "newrelic-key"
    NotionToken "notion-token"
    NpmToken "npm-token"
    NuGetKey "nuget-key"
    NvidiaKey "nvidia-key"
    OnePasswordKey "1password-key"
    OnePasswordToken "1password-token"
    OpenAiKey "openai-key"
    OpenShiftToken "openshift-token"
    OtpSecret "otp-secret"
    Password "password"
    PerplexityKey "perplexity-key"
    PaypalToken "paypal-token"
    PineconeKey "pinecone-key"
    PlanetScaleToken "planetscale-token"
    PostHogKey "posthog-key"
    PostmanKey "postman-key"
    PrefectKey "prefect-key"
    PrivateKey "private-key"
    PulumiToken "pulumi-token"
    PypiToken "pypi-token"
    RazorpayKey "razorpay-key"
    ReadmeKey "readme-key"
    RenderKey "render-key"
    ReplicateToken "replicate-token"
    ResendKey "resend-key"
    RubygemsToken "rubygems-token"
    Secret "secret"
    SendgridKey "sendgrid-key"
    SentryToken "sentry-token"
    ShippoToken "shippo-token"
    ShopifyToken "shopify-token"
    SignedUrl "signed-url"
    SlackToken "slack-token"
    SonarToken "sonar-token"
    SourcegraphToken "sourcegraph-token"
    SquareToken "square-token"
    StripeKey "stripe-key"
    SupabaseToken "supabase-token"
    TailscaleKey "tailscale-key"
    TavilyKey "tavily-key"
    TelegramToken "telegram-token"
    TencentKey "tencent-key"
    TerraformToken "terraform-token"
    Token "token"
    TwilioKey "twilio-key"
    TypeformToken "typeform-token"
    UrlPassword "url-password"
    VaultToken "vault-token"
    VercelToken "vercel-token"
    Webhook "webhook"
    XaiKey "xai-key"
}

/// A rule, and the beginnings at which it runs.
#[derive(Clone, Copy)]
pub(super) struct Family {
    /// Beginnings of text at which the rule runs. At least three bytes each.
    heads: &'static [&'static str],
    rule: Rule,
    /// Place where the form is described; only for rules that are data.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for the test that each has one"))]
    pub(super) source: &'static str,
}

#[derive(Clone, Copy)]
enum Rule {
    /// A head followed by `min` to `max` characters of an alphabet.
    Token { kind: Kind, of: fn(u8) -> bool, min: usize, max: usize, look: Look },
    /// A credential that begins at the head and needs a function to recognise.
    Shape(fn(&mut Scan, usize) -> Option<Span>),
    /// Finds credentials near the head, adds them and returns where to continue. Heads match in either case.
    Around(fn(&mut Scan, usize) -> Option<usize>),
}

/// Keeps names and placeholders from being taken for the random part of a token.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Look {
    /// Several characters, and a digit or both cases.
    Mixed,
    /// The head also occurs in ordinary names: requires a long unbroken run with digits and letters.
    Unbroken,
    /// The head is an ordinary word, so it must not be the end of a longer name either.
    Alone,
}

pub(super) const ANY: usize = usize::MAX;

pub(super) const fn token(
    kind: Kind,
    heads: &'static [&'static str],
    of: fn(u8) -> bool,
    min: usize,
    max: usize,
    look: Look,
    source: &'static str,
) -> Family {
    Family { heads, rule: Rule::Token { kind, of, min, max, look }, source }
}

const fn shape(heads: &'static [&'static str], read: fn(&mut Scan, usize) -> Option<Span>) -> Family {
    Family { heads, rule: Rule::Shape(read), source: "" }
}

const fn around(heads: &'static [&'static str], read: fn(&mut Scan, usize) -> Option<usize>) -> Family {
    Family { heads, rule: Rule::Around(read), source: "" }
}

/// Rules that match at the same position run in this order: an earlier replacement first, then [`TOKENS`], then these.
const OTHERS: [Family; 29] = [
    around(&[MARK], already),
    shape(&["SG."], sendgrid),
    shape(&["eyJ"], jwt),
    // The token begins with an account number in base64, whose first three letters can only be these.
    shape(&["MDA", "NTE", "OjI", "MzM", "MDQ", "MDU", "MDY", "MDc", "MDg", "MDk"], discord),
    shape(
        &[
            "SK0", "AC1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe",
            "SKf",
        ],
        twilio,
    ),
    shape(&["-----BEGIN "], private_key),
    around(&[":AA"], telegram_before),
    around(&["://"], url_password),
    around(&WEBHOOKS, webhook),
    around(&["webhooks/"], webhook),
    shape(&["pat"], airtable),
    shape(&["A3-"], one_password),
    shape(&["re_"], resend),
    shape(&["dp.st."], doppler),
    shape(&["sk.eyJ"], mapbox),
    around(&[".atlasv1."], terraform_before),
    around(&["-us"], mailchimp_before),
    around(&["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], azure_before),
    around(&["-u ", "--user "], curl_user),
    // These are separate families, because a family runs wherever the first letters of any of its heads combine.
    around(&["pass", "pwd"], assigned::read),
    around(&["secret", "sig="], assigned::read),
    around(&["token", "key"], assigned::read),
    around(&["auth"], assigned::read),
    around(&["_pat"], assigned::read),
    around(&["cookie"], assigned::read),
    around(&["x-amz-signature=", "x-goog-signature="], signed_url),
    around(&["bearer "], assigned::bearer),
    around(spoken::NAMES, spoken::read),
    around(commands::HEADS, commands::read),
];

/// All rules: at most 128, since a rule is a bit of a mask.
static FAMILIES: [Family; TOKENS.len() + OTHERS.len()] = {
    let mut all = [const { shape(&["\0\0\0"], nothing) }; TOKENS.len() + OTHERS.len()];
    let (mut at, mut other) = (0, 1);
    // The rule for earlier replacements comes first, so that nothing in a replacement is read.
    all[at] = OTHERS[0];
    while at < TOKENS.len() {
        all[at + 1] = TOKENS[at];
        at += 1;
    }
    while other < OTHERS.len() {
        all[TOKENS.len() + other] = OTHERS[other];
        other += 1;
    }
    all
};

fn nothing(_: &mut Scan, _: usize) -> Option<Span> {
    None
}

/// Families that may have a byte as the first, second and third byte of a head: for each byte value one bit per family.
static FILTER: [[u128; 3]; 256] = filter();

const fn filter() -> [[u128; 3]; 256] {
    let mut table = [[0; 3]; 256];
    let mut family = 0;
    while family < FAMILIES.len() {
        let either = matches!(FAMILIES[family].rule, Rule::Around(_));
        let mut head = 0;
        while head < FAMILIES[family].heads.len() {
            let bytes = FAMILIES[family].heads[head].as_bytes();
            let mut at = 0;
            while at < 3 {
                table[bytes[at] as usize][at] |= 1 << family;
                if either {
                    table[bytes[at].to_ascii_uppercase() as usize][at] |= 1 << family;
                }
                at += 1;
            }
            head += 1;
        }
        family += 1;
    }
    table
}

/// Returns the next position at which rules must run, and the mask of these rules.
pub(super) fn next(bytes: &[u8], from: usize) -> Option<(usize, u128)> {
    let rest = bytes.get(from..)?;
    for (at, three) in rest.windows(3).enumerate() {
        let mask = FILTER[three[0] as usize][0] & FILTER[three[1] as usize][1] & FILTER[three[2] as usize][2];
        if mask != 0 {
            return Some((from + at, mask));
        }
    }
    None
}

pub(super) fn mask(bytes: &[u8], at: usize) -> u128 {
    bytes
        .get(at..at + 3)
        .map_or(0, |three| FILTER[three[0] as usize][0] & FILTER[three[1] as usize][1] & FILTER[three[2] as usize][2])
}

pub(super) fn of(mut mask: u128) -> impl Iterator<Item = &'static Family> {
    std::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        FAMILIES.get(lowest)
    })
}

impl Family {
    pub(super) fn read(&self, scan: &mut Scan, at: usize) -> Option<usize> {
        if let Rule::Around(read) = self.rule {
            let rest = &scan.bytes[at..];
            let fits = |h: &&str| rest.get(..h.len()).is_some_and(|start| start.eq_ignore_ascii_case(h.as_bytes()));
            return if self.heads.iter().any(fits) { read(scan, at) } else { None };
        }
        let span = self.shape(scan, at)?;
        scan.add(span.range, span.kind)
    }

    pub(super) fn shape(&self, scan: &mut Scan, at: usize) -> Option<Span> {
        match self.rule {
            Rule::Token { kind, of, min, max, look } => {
                let head = self.heads.iter().find(|h| scan.starts(at, h))?;
                let alone = look != Look::Alone || !matches!(scan.before(at), b'_' | b'-');
                if !alone || !scan.may_begin(at) {
                    return None;
                }
                let start = at + head.len();
                let sample = scan.bytes.get(start..start + min)?;
                // A sample of limited length decides before the run is measured.
                if !sample.iter().all(|b| of(*b)) || !random(sample, &scan.bytes[start..], look, of) {
                    return None;
                }
                let end = match max {
                    ANY if std::ptr::fn_addr_eq(of, is_word as fn(u8) -> bool) => scan.word_end(start),
                    ANY => scan.run(start, of),
                    max => start + scan.bytes[start..].iter().take(max).take_while(|b| of(**b)).count(),
                };
                let end = start + scan.bytes[start..end].trim_ascii_end().len();
                let end = if scan.before(end) == b'.' { end - 1 } else { end };
                let over = max != ANY && scan.at(end).is_ascii_alphanumeric();
                (!over).then_some(Span { range: at..end, kind })
            }
            Rule::Shape(read) => read(scan, at),
            Rule::Around(_) => None,
        }
    }
}

fn random(sample: &[u8], rest: &[u8], look: Look, of: fn(u8) -> bool) -> bool {
    match look {
        Look::Mixed | Look::Alone => {
            let has = |what: fn(&u8) -> bool| sample.iter().any(what);
            let cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
            // In an alphabet without small letters, digits are not required.
            let capitals = !of(b'z') && has(u8::is_ascii_uppercase);
            (has(u8::is_ascii_digit) || cases || capitals) && value::variety(sample) >= 5
        }
        Look::Unbroken => {
            let length = rest.iter().take(64).take_while(|b| of(**b)).count();
            rest[..length].split(|b| !b.is_ascii_alphanumeric()).any(|run| {
                run.len() >= 16
                    && run.iter().any(u8::is_ascii_digit)
                    && run.iter().any(u8::is_ascii_alphabetic)
                    && value::variety(run) >= 5
            })
        }
    }
}

pub(super) fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Of the hexadecimal digits of a UUID and its dashes.
pub(super) fn dashed(byte: u8) -> bool {
    hex(byte) || byte == b'-'
}

pub(super) fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

pub(super) fn hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

pub(super) fn dollars(byte: u8) -> bool {
    alnum(byte) || byte == b'$'
}

pub(super) fn percent(byte: u8) -> bool {
    is_word(byte) || byte == b'%'
}

pub(super) fn base64(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'+' | b'/' | b'=')
}

pub(super) fn dotted(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

/// Skips an earlier replacement as a whole, so that the kind in it is not read as a name.
fn already(scan: &mut Scan, at: usize) -> Option<usize> {
    let end = scan.run(at + MARK.len(), |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    (scan.at(end) == b']').then_some(end + 1)
}

fn sendgrid(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) {
        return None;
    }
    let end = segments(scan, at + 2, &[(16, 30), (30, ANY)])?;
    Some(Span { range: at..end, kind: Kind::SendgridKey })
}

/// Reads header, content and signature; the header is JSON, so its base64 begins with `eyJ`.
fn jwt(scan: &mut Scan, at: usize) -> Option<Span> {
    let header = scan.word_end(at);
    if header - at < 12 || !scan.may_begin(at) || value::variety(&scan.bytes[at..at + 12]) < 5 {
        return None;
    }
    let mut end = segments(scan, header, &[(10, ANY), (10, ANY)])?;
    // An encrypted token has two more parts.
    if let Some(longer) = segments(scan, end, &[(10, ANY), (10, ANY)]) {
        end = longer;
    }
    Some(Span { range: at..end, kind: Kind::Jwt })
}

/// Reads a key, a full stop and 64 hex digits.
fn airtable(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) || !scan.starts(at, "pat") {
        return None;
    }
    let key = scan.word_end(at);
    let end = segments(scan, key, &[(64, 64)])?;
    (key - at == 17 && scan.bytes[key + 1..end].iter().all(|b| hex(*b)))
        .then_some(Span { range: at..end, kind: Kind::AirtableToken })
}

/// Reads the groups of a secret key, of which the first two may be one: gitleaks' rule `1password-secret-key`.
fn one_password(scan: &mut Scan, at: usize) -> Option<Span> {
    const FORMS: [&[usize]; 2] = [&[6, 6, 5, 5, 5, 5], &[6, 11, 5, 5, 5]];
    if !scan.may_begin(at) || !scan.starts(at, "A3-") {
        return None;
    }
    let ends = |form: &[usize]| {
        let mut end = at + 2;
        for length in form {
            let group = scan.bytes.get(end + 1..end + 1 + length)?;
            if scan.at(end) != b'-' || !group.iter().all(|b| upper(*b)) {
                return None;
            }
            end += 1 + length;
        }
        (!scan.at(end).is_ascii_alphanumeric()).then_some(end)
    };
    let end = FORMS.iter().find_map(|form| ends(form))?;
    let key = &scan.bytes[at + 3..end];
    let random = key.iter().any(u8::is_ascii_digit) && value::variety(key) >= 8;
    random.then_some(Span { range: at..end, kind: Kind::OnePasswordKey })
}

/// Reads 8 characters, `_` and 24 more, as resend.com/docs/api-reference/introduction shows them; `re_` alone also
/// begins ordinary names.
fn resend(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) || !scan.starts(at, "re_") || scan.at(at + 11) != b'_' {
        return None;
    }
    let end = scan.run(at + 12, alnum);
    let first = &scan.bytes[at + 3..at + 11];
    let second = &scan.bytes[at + 12..end];
    let has = |what: fn(&u8) -> bool| second.iter().any(what);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    (first.iter().all(|b| alnum(*b)) && (22..=28).contains(&second.len()) && mixed && scan.at(end) != b'_')
        .then_some(Span { range: at..end, kind: Kind::ResendKey })
}

/// Reads a token with the name of its environment, `dp.st.prd.` and 40 more: docs.doppler.com/docs/service-tokens.
fn doppler(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) || !scan.starts(at, "dp.st.") {
        return None;
    }
    let name = at + "dp.st.".len();
    let dot = name + scan.bytes[name..].iter().take(36).take_while(|b| is_word(**b)).count();
    if scan.at(dot) != b'.' || dot == name {
        return None;
    }
    let end = scan.run(dot + 1, alnum);
    let token = &scan.bytes[dot + 1..end];
    let fits = (40..=48).contains(&token.len());
    (fits && token.iter().any(u8::is_ascii_digit) && value::variety(token) >= 5)
        .then_some(Span { range: at..end, kind: Kind::DopplerToken })
}

/// Reads the signature of a URL that opens a stored object for everybody who has it:
/// docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html.
fn signed_url(scan: &mut Scan, at: usize) -> Option<usize> {
    let start = scan.run(at, |b| b != b'=') + 1;
    let end = start + scan.bytes[start..].iter().take(1024).take_while(|b| b.is_ascii_hexdigit()).count();
    if end - start < 64 || value::variety(&scan.bytes[start..end]) < 5 {
        return None;
    }
    scan.add(start..end, Kind::SignedUrl)
}

/// Reads two parts, of which the first is JSON.
fn mapbox(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) || !scan.starts(at, "sk.eyJ") {
        return None;
    }
    let first = scan.word_end(at + 3);
    // A longer last segment is the token with text behind it, and is redacted as a whole.
    let end = segments(scan, first, &[(16, 200)])?;
    (first - at > 40).then_some(Span { range: at..end, kind: Kind::MapboxToken })
}

/// Reads 14 characters, `.atlasv1.` and at least 60 more.
pub(super) fn terraform(scan: &mut Scan, start: usize) -> Option<Span> {
    let dot = start + 14;
    if !scan.starts(dot, ".atlasv1.") || !scan.bytes[start..dot].iter().all(|b| alnum(*b)) || !scan.may_begin(start) {
        return None;
    }
    let end = scan.word_end(dot + ".atlasv1.".len());
    (end - dot > 60).then_some(Span { range: start..end, kind: Kind::TerraformToken })
}

/// Called at the full stop, with the beginning of the token before it.
fn terraform_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let span = terraform(scan, begun_before(scan, at, 14)?)?;
    scan.add(span.range, span.kind)
}

/// Reads 32 hex digits, `-us` and the number of a data centre.
pub(super) fn mailchimp(scan: &mut Scan, start: usize) -> Option<Span> {
    let dash = start + 32;
    if !scan.starts(dash, "-us") {
        return None;
    }
    let end = scan.run(dash + 3, |b| b.is_ascii_digit());
    let key = &scan.bytes[start..dash];
    let fits = (1..=2).contains(&(end - dash - 3)) && key.iter().all(|b| hex(*b)) && value::variety(key) >= 5;
    (fits && scan.may_begin(start) && !scan.at(end).is_ascii_alphanumeric())
        .then_some(Span { range: start..end, kind: Kind::MailchimpKey })
}

/// Called at the dash, with the beginning of the key before it.
fn mailchimp_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let span = mailchimp(scan, begun_before(scan, at, 32)?)?;
    scan.add(span.range, span.kind)
}

/// Reads the secret of an application of Azure: three characters, a digit, `Q~` and 31 to 34 more
/// (gitleaks' rule `azure-ad-client-secret`).
pub(super) fn azure(scan: &mut Scan, start: usize) -> Option<Span> {
    let of = |b: u8| alnum(b) || matches!(b, b'_' | b'.' | b'~' | b'-');
    let head = scan.bytes.get(start..start + 6)?;
    let fits = head[..3].iter().all(|b| of(*b)) && head[3].is_ascii_digit() && &head[4..] == b"Q~";
    if !fits || !scan.may_begin(start) {
        return None;
    }
    let run = scan.run(start + 6, of);
    // Signs that may be in it may also follow it: a full stop, the ending of a file's name.
    let end = (start + 37..=start + 40)
        .rev()
        .find(|end| *end <= run && alnum(scan.before(*end)) && !alnum(scan.at(*end)) && scan.at(*end) != b'_')?;
    let rest = &scan.bytes[start + 6..end];
    let random = rest.iter().any(u8::is_ascii_digit) && rest.iter().any(u8::is_ascii_alphabetic);
    (random && value::variety(rest) >= 5).then_some(Span { range: start..end, kind: Kind::AzureKey })
}

/// Called at the digit, with the three characters before it.
fn azure_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let span = azure(scan, begun_before(scan, at, 3)?)?;
    scan.add(span.range, span.kind)
}

/// Returns the position `length` bytes before `at`; `None` if a span reaches into these bytes.
fn begun_before(scan: &Scan, at: usize, length: usize) -> Option<usize> {
    let start = at.checked_sub(length)?;
    scan.found.last().is_none_or(|last| last.range.end <= start).then_some(start)
}

/// Reads account, time and signature.
fn discord(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) {
        return None;
    }
    let account = scan.word_end(at);
    if !(23..=30).contains(&(account - at)) {
        return None;
    }
    let end = segments(scan, account, &[(5, 8), (25, ANY)])?;
    Some(Span { range: at..end, kind: Kind::DiscordToken })
}

/// Returns the end of runs of word characters with these least and greatest lengths, each after a full stop.
fn segments(scan: &mut Scan, mut at: usize, lengths: &[(usize, usize)]) -> Option<usize> {
    for (min, max) in lengths {
        if scan.at(at) != b'.' || at + 1 >= scan.bytes.len() {
            return None;
        }
        let end = scan.word_end(at + 1);
        if !(*min..=*max).contains(&(end - at - 1)) {
            return None;
        }
        at = end;
    }
    Some(at)
}

/// Reads `SK` and 32 hex digits, which is a key; `AC…` is an account, which is not secret, but the part after its colon
/// is.
fn twilio(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.may_begin(at) {
        return None;
    }
    let id = |from: usize| {
        let bytes = scan.bytes.get(from..from + 32)?;
        (bytes.iter().all(|b| hex(*b)) && value::variety(bytes) >= 5 && !scan.at(from + 32).is_ascii_alphanumeric())
            .then_some(from + 32)
    };
    let end = id(at + 2)?;
    match (scan.at(at), scan.at(at + 1)) {
        (b'S', b'K') => Some(Span { range: at..end, kind: Kind::TwilioKey }),
        (b'A', b'C') if scan.at(end) == b':' => Some(Span { range: end + 1..id(end + 1)?, kind: Kind::TwilioKey }),
        _ => None,
    }
}

/// Reads a block with its BEGIN and END lines; a block without an end goes up to where the base64 lines stop. A block
/// that is only mentioned contains no base64.
fn private_key(scan: &mut Scan, at: usize) -> Option<Span> {
    if !scan.starts(at, "-----BEGIN ") {
        return None;
    }
    let label = at + 11;
    let label_end = label + memchr::memmem::find(&scan.bytes[label..scan.bytes.len().min(label + 60)], b"-----")?;
    let is_private = |label: &[u8]| {
        memchr::memmem::find(label, b"PRIVATE KEY").is_some() || label.eq_ignore_ascii_case(b"OpenVPN Static key V1")
    };
    if !is_private(&scan.bytes[label..label_end]) {
        return None;
    }
    let body = label_end + 5;
    // Only the next dashes are looked at: a search beyond another BEGIN would be repeated from there.
    let stop = memchr::memmem::find(&scan.bytes[body..], b"-----").map_or(scan.bytes.len(), |found| body + found);
    let has_key = scan.bytes[body..stop].split(|b| !base64(*b)).any(|run| run.len() >= 16);
    // In a patch the line may have one more dash.
    let dashes = scan.run(stop, |b| b == b'-');
    if has_key && dashes <= stop + 6 && scan.starts(dashes, "END ") {
        let end = dashes + 4;
        let window = &scan.bytes[end..scan.bytes.len().min(end + 60)];
        if let Some(close) = memchr::memmem::find(window, b"-----")
            && is_private(&window[..close])
        {
            return Some(Span { range: at..end + close + 5, kind: Kind::PrivateKey });
        }
    }
    let end = base64_lines(scan, body, stop);
    (end > body).then_some(Span { range: at..end, kind: Kind::PrivateKey })
}

/// Returns the end of the last line of base64 from here. Lines may be indented, numbered, quoted or marked as in a
/// patch, and their ends may be escapes.
fn base64_lines(scan: &Scan, from: usize, stop: usize) -> usize {
    let (mut at, mut end) = (from, from);
    while at < stop {
        let start = at + scan.bytes[at..stop].iter().take_while(|b| !base64(**b) || **b == b'+').count();
        if start - at > 24 {
            break;
        }
        let run = start + scan.bytes[start..stop].iter().take_while(|b| base64(**b)).count();
        let bytes = &scan.bytes[start..run];
        let header = matches!(bytes, b"Proc-Type" | b"DEK-Info" | b"Version" | b"Comment");
        let closed = matches!(scan.at(run), 0 | b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b'`');
        let mixed = bytes.iter().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) && bytes.len() >= 4;
        if bytes.len() >= 16 {
            (end, at) = (run, run);
        } else if end > from && (bytes.ends_with(b"=") || (closed && mixed)) {
            return run;
        } else if header {
            at = run + memchr::memchr2(b'\n', b'\\', &scan.bytes[run..stop]).unwrap_or(stop - run);
        } else if bytes.len() <= 8 && (bytes.iter().all(u8::is_ascii_digit) || matches!(bytes, b"n" | b"r" | b"rn")) {
            at = run.max(at + 1);
        } else {
            break;
        }
    }
    end
}

/// Reads the number of a bot, a colon and the fixed beginning of Telegram's secrets.
pub(super) fn telegram(scan: &mut Scan, start: usize) -> Option<Span> {
    let colon =
        start + scan.bytes[start.min(scan.bytes.len())..].iter().take(11).take_while(|b| b.is_ascii_digit()).count();
    // In an address the number follows the word `bot`.
    let begins = scan.may_begin(start) || scan.bytes[..start].ends_with(b"bot");
    if !(8..=10).contains(&(colon - start)) || !begins || !scan.starts(colon, ":AA") {
        return None;
    }
    let end = scan.word_end(colon + 1);
    (end - colon > 33).then_some(Span { range: start..end, kind: Kind::TelegramToken })
}

/// Called at the colon, with the bot's number before it.
fn telegram_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let from = scan.found.last().map_or(0, |last| last.range.end).max(at.saturating_sub(11));
    let digits = scan.bytes[from..at].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let span = telegram(scan, at - digits)?;
    scan.add(span.range, span.kind)
}

/// Reads the password of `scheme://user:password@host`.
fn url_password(scan: &mut Scan, at: usize) -> Option<usize> {
    if !scan.before(at).is_ascii_alphanumeric() {
        return None;
    }
    let start = at + 3;
    let limit = scan.bytes.len().min(start + 512);
    let ends = |b: &u8| b.is_ascii_whitespace() || b"/?#\"'`<>\\()[]{}".contains(b);
    let stop = start + scan.bytes[start..limit].iter().position(ends).unwrap_or(limit - start);
    let authority = &scan.bytes[start..stop];
    // Takes the last `@` before a host: some passwords contain an `@`.
    let follows = |at: &usize| authority.get(at + 1).copied().unwrap_or(scan.at(stop));
    let host = memchr::memrchr_iter(b'@', authority)
        .find(|at| is_word(follows(at)) || matches!(follows(at), b'[' | 0x80..))?;
    let colon = memchr::memchr(b':', &authority[..host])?;
    let password = start + colon + 1..start + host;
    let port = password.len() <= 5 && scan.bytes[password.clone()].iter().all(u8::is_ascii_digit);
    if port || value::is_reference(&scan.text[password.clone()]) {
        return None;
    }
    let kind = scan.shape_at(password.start).map_or(Kind::UrlPassword, |shape| shape.kind);
    scan.add(password, kind)
}

/// Beginnings of the addresses of webhooks. The second one of Office was used until 2021.
const WEBHOOKS: [&str; 8] = [
    "hooks.slack.com/",
    "webhook.office.com/",
    "outlook.office.com/webhook/",
    "hooks.zapier.com/",
    "hook.eu1.make.com/",
    "hook.eu2.make.com/",
    "hook.us1.make.com/",
    "hook.us2.make.com/",
];

/// Reads the path of a webhook URL: anyone who knows it can post there.
fn webhook(scan: &mut Scan, at: usize) -> Option<usize> {
    let start = if let Some(host) = WEBHOOKS.iter().find(|host| scan.starts(at, host)) {
        // `services/`, `workflows/`, `triggers/`, `webhookb2/`: the first word of the path names the kind of hook.
        let path = at + host.len();
        path + scan.bytes[path..].iter().take(16).position(|b| *b == b'/').map_or(0, |slash| slash + 1)
    } else {
        let number = at + "webhooks/".len();
        let token = scan.bytes[number..].iter().take(24).take_while(|b| b.is_ascii_digit()).count();
        if token < 16 || scan.at(number + token) != b'/' {
            return None;
        }
        number + token + 1
    };
    let end = start + scan.bytes[start..].iter().take(256).take_while(|b| is_word(**b) || b"/@".contains(b)).count();
    let path = &scan.bytes[start..end];
    let random = |part: &[u8]| part.len() >= 16 && part.iter().any(u8::is_ascii_digit) && value::variety(part) >= 5;
    if end - start < 24 || !path.split(|b| *b == b'/').any(random) {
        return None;
    }
    scan.add(start..end, Kind::Webhook)
}

/// Reads the password of `curl -u name:password`. Without curl in the line, `-u 1000:1000` means something else.
fn curl_user(scan: &mut Scan, at: usize) -> Option<usize> {
    if !is_blank(scan.before(at)) {
        return None;
    }
    let line = &scan.bytes[at.saturating_sub(256)..at];
    let line = memchr::memrchr(b'\n', line).map_or(line, |newline| &line[newline..]);
    memchr::memmem::rfind(line, b"curl")?;
    let mut start = scan.run(at, |b| b == b'-' || b.is_ascii_lowercase());
    start +=
        scan.bytes[start..].iter().take(8).take_while(|b| is_blank(**b) || matches!(b, b'\\' | b'"' | b'\'')).count();
    let limit = scan.bytes.len().min(start + 256);
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'\\' | b'`');
    let stop = start + scan.bytes[start..limit].iter().position(ends)?;
    let colon = start + memchr::memchr2(b':', b'[', &scan.bytes[start..stop])?;
    let password = colon + 1..stop;
    if scan.at(colon) == b'[' || password.is_empty() || value::is_reference(&scan.text[password.clone()]) {
        return None;
    }
    scan.add(password, Kind::Password)
}

#[cfg(test)]
impl Family {
    /// Returns kind, heads and source of a rule that is data.
    pub(super) fn token(&self) -> Option<(Kind, &'static [&'static str], &'static str)> {
        match self.rule {
            Rule::Token { kind, .. } => Some((kind, self.heads, self.source)),
            _ => None,
        }
    }
}
