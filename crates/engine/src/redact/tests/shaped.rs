//! One credential of each family that is recognised by its shape.

use heirloom_testkit::Rng;

use super::Kind;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";

pub(super) fn of(rng: &mut Rng, alphabet: &str, length: usize) -> String {
    let letters = alphabet.as_bytes();
    (0..length).map(|_| *rng.pick(letters) as char).collect()
}

pub(super) fn alnum(rng: &mut Rng, length: usize) -> String {
    let upper = LOWER.to_uppercase();
    let mut text = of(rng, &format!("{LOWER}{upper}0123456789"), length);
    // Random text may lack digits now and then, which would make the test flaky.
    text.replace_range(3..6, "Q7x");
    text
}

pub(super) fn hex(rng: &mut Rng, length: usize) -> String {
    of(rng, HEX, length)
}

pub(super) fn upper(rng: &mut Rng, length: usize) -> String {
    of(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length)
}

/// Makes one credential of each family that is recognised by its shape.
pub(super) fn shaped(rng: &mut Rng) -> Vec<(Kind, String)> {
    let mut all = Vec::new();
    let mut add = |kind, parts: &[&str]| all.push((kind, parts.concat()));
    for head in ["AKIA", "ASIA"] {
        add(Kind::AwsKey, &[head, &upper(rng, 16)]);
    }
    for head in ["ghp", "gho", "ghu", "ghs", "ghr"] {
        add(Kind::GithubToken, &[head, "_", &alnum(rng, 36)]);
    }
    add(Kind::GithubToken, &["github", "_pat_", &alnum(rng, 22), "_", &alnum(rng, 59)]);
    add(Kind::GitlabToken, &["glpat", "-", &alnum(rng, 20)]);
    for head in ["xoxb", "xoxa", "xoxp", "xoxr", "xoxs"] {
        add(Kind::SlackToken, &[head, "-", "123456789012-1234567890123-", &alnum(rng, 24)]);
    }
    for head in ["sk_live", "rk_live", "sk_test"] {
        add(Kind::StripeKey, &[head, "_", &alnum(rng, 24)]);
    }
    add(Kind::OpenAiKey, &["sk", "-", &alnum(rng, 48)]);
    add(Kind::OpenAiKey, &["sk", "-proj-", &alnum(rng, 40), "_", &alnum(rng, 40)]);
    add(Kind::OpenAiKey, &["sk", "-or-v1-", &hex(rng, 64)]);
    add(Kind::AnthropicKey, &["sk", "-ant-api03-", &alnum(rng, 60), "-", &alnum(rng, 30), "AA"]);
    add(Kind::GoogleKey, &["AI", "za", &alnum(rng, 35)]);
    add(Kind::GoogleOauth, &["ya29", ".", &alnum(rng, 60)]);
    add(Kind::GoogleOauth, &["GOCSPX", "-", &alnum(rng, 28)]);
    add(Kind::TwilioKey, &["S", "K", &hex(rng, 32)]);
    add(Kind::SendgridKey, &["S", "G.", &alnum(rng, 22), ".", &alnum(rng, 43)]);
    add(Kind::MailgunKey, &["key", "-", &hex(rng, 32)]);
    add(Kind::NpmToken, &["npm", "_", &alnum(rng, 36)]);
    add(Kind::PypiToken, &["pypi", "-AgEIcHlwaS5vcmc", &alnum(rng, 80)]);
    add(Kind::HuggingFaceToken, &["hf", "_", &alnum(rng, 34)]);
    add(Kind::DigitalOceanToken, &["dop", "_v1_", &hex(rng, 64)]);
    add(Kind::TelegramToken, &["123456789", ":AA", &alnum(rng, 33)]);
    add(Kind::DiscordToken, &["MTE4", &alnum(rng, 22), ".", &alnum(rng, 6), ".", &alnum(rng, 38)]);
    add(Kind::Jwt, &["ey", "JhbGciOiJIUzI1NiJ9", ".", "ey", "J", &alnum(rng, 40), ".", &alnum(rng, 43)]);
    add(Kind::VaultToken, &["hvs", ".", &alnum(rng, 90)]);
    add(Kind::DatabricksToken, &["da", "pi", &hex(rng, 32)]);
    add(Kind::ShopifyToken, &["shpat", "_", &hex(rng, 32)]);
    add(Kind::LinearKey, &["lin", "_api_", &alnum(rng, 40)]);
    add(Kind::NotionToken, &["secret", "_", &alnum(rng, 43)]);
    add(Kind::NotionToken, &["ntn", "_", &alnum(rng, 46)]);
    add(Kind::SupabaseToken, &["sbp", "_", &hex(rng, 40)]);
    add(Kind::FlyToken, &["fo1", "_", &alnum(rng, 43)]);
    add(Kind::AgeKey, &["AGE-SECRET", "-KEY-1", &upper(rng, 58)]);
    add(Kind::DockerToken, &["dckr", "_pat_", &alnum(rng, 27)]);
    add(Kind::SentryToken, &["sntrys", "_", &alnum(rng, 80)]);
    add(Kind::GrafanaToken, &["glsa", "_", &alnum(rng, 32), "_", &hex(rng, 8)]);
    add(Kind::PostmanKey, &["PMAK", "-", &hex(rng, 24), "-", &hex(rng, 34)]);
    add(Kind::NewRelicKey, &["NRAK", "-", &upper(rng, 27)]);
    add(Kind::GroqKey, &["gsk", "_", &alnum(rng, 52)]);
    add(Kind::XaiKey, &["xai", "-", &alnum(rng, 80)]);
    add(Kind::ReplicateToken, &["r8", "_", &alnum(rng, 37)]);
    add(Kind::PerplexityKey, &["pplx", "-", &alnum(rng, 48)]);
    add(Kind::NvidiaKey, &["nvapi", "-", &alnum(rng, 64)]);
    add(Kind::TavilyKey, &["tvly", "-dev-", &alnum(rng, 32)]);
    add(Kind::RubygemsToken, &["rubygems", "_", &hex(rng, 48)]);
    add(Kind::FigmaToken, &["figd", "_", &alnum(rng, 40)]);
    add(Kind::PlanetScaleToken, &["pscale", "_tkn_", &alnum(rng, 43)]);
    add(Kind::OnePasswordToken, &["ops", "_ey", "J", &alnum(rng, 200)]);
    add(Kind::SquareToken, &["sq0csp", "-", &alnum(rng, 43)]);
    add(Kind::SquareToken, &["EAA", "A", &alnum(rng, 60)]);
    add(Kind::BitbucketToken, &["ATB", "B", &alnum(rng, 32)]);
    add(Kind::PaypalToken, &["access_token", "$production$", &alnum(rng, 16), "$", &hex(rng, 32)]);
    add(Kind::DopplerToken, &["dp", ".pt.", &alnum(rng, 43)]);
    add(Kind::DopplerToken, &["dp", ".st.", &alnum(rng, 43)]);
    add(Kind::DopplerToken, &["dp", ".st.prd_eu.", &alnum(rng, 43)]);
    add(Kind::AwsKey, &["AB", "SK", &alnum(rng, 128)]);
    add(Kind::AwsKey, &["bedrock", "-api-key-", &alnum(rng, 160)]);
    add(Kind::CratesIoToken, &["ci", "o", &alnum(rng, 32)]);
    add(Kind::NuGetKey, &["oy", "2", &alnum(rng, 43).to_lowercase()]);
    add(Kind::ElevenLabsKey, &["sk", "_", &hex(rng, 48)]);
    add(Kind::AzureKey, &["Q7x", "8Q", "~", &alnum(rng, 34)]);
    add(Kind::AtlassianToken, &["ATATT3", "xFfGF0", &alnum(rng, 170), "=1A2B3C4D"]);
    add(Kind::TailscaleKey, &["tskey", "-auth-", &alnum(rng, 12), "CNTRL-", &alnum(rng, 32)]);
    add(Kind::TailscaleKey, &["tskey", "-api-", &alnum(rng, 12), "CNTRL-", &alnum(rng, 32)]);
    add(Kind::PulumiToken, &["pul", "-", &hex(rng, 40)]);
    add(Kind::ArtifactoryToken, &["AK", "Cp", &alnum(rng, 69)]);
    add(Kind::NetlifyToken, &["nfp", "_", &alnum(rng, 36)]);
    add(Kind::RenderKey, &["rnd", "_", &alnum(rng, 28)]);
    add(Kind::DropboxToken, &["sl", ".B", &alnum(rng, 130)]);
    add(Kind::CloudflareToken, &["v1", ".0-", &hex(rng, 24), "-", &hex(rng, 146)]);
    add(Kind::ContentfulToken, &["CF", "PAT-", &alnum(rng, 43)]);
    add(Kind::DuffelToken, &["duffel", "_live_", &alnum(rng, 43)]);
    add(Kind::EasyPostKey, &["EZ", "AK", &alnum(rng, 54)]);
    add(Kind::ShippoToken, &["shippo", "_live_", &hex(rng, 40)]);
    add(Kind::AdafruitKey, &["aio", "_", &alnum(rng, 28)]);
    add(Kind::SourcegraphToken, &["sgp", "_", &hex(rng, 40)]);
    add(Kind::PrefectKey, &["pnu", "_", &alnum(rng, 36)]);
    add(Kind::LangSmithKey, &["lsv2", "_pt_", &hex(rng, 32), "_", &hex(rng, 10)]);
    add(Kind::PineconeKey, &["pcsk", "_", &alnum(rng, 70)]);
    add(Kind::FlutterwaveKey, &["FLWSECK", "-", &hex(rng, 32)]);
    add(Kind::RazorpayKey, &["rzp", "_live_", &alnum(rng, 14)]);
    add(Kind::BrevoKey, &["xkeysib", "-", &hex(rng, 64), "-", &alnum(rng, 16)]);
    add(Kind::HerokuKey, &["HRKU", "-AA", &alnum(rng, 58)]);
    add(Kind::BuildkiteToken, &["bkua", "_", &hex(rng, 40)]);
    add(Kind::CircleCiToken, &["CCIPAT", "_", &alnum(rng, 22), "_", &hex(rng, 40)]);
    add(Kind::ClojarsToken, &["CLOJARS", "_", &hex(rng, 60)]);
    add(Kind::DenoToken, &["ddp", "_", &alnum(rng, 36)]);
    add(Kind::TypeformToken, &["tfp", "_", &alnum(rng, 59)]);
    add(Kind::ReadmeKey, &["rdme", "_", &alnum(rng, 70)]);
    add(Kind::SonarToken, &["squ", "_", &hex(rng, 40)]);
    add(Kind::OpenShiftToken, &["sha256", "~", &alnum(rng, 43)]);
    add(Kind::DynatraceToken, &["dt0c01", ".", &upper(rng, 24), ".", &upper(rng, 64)]);
    add(Kind::FrameIoToken, &["fio", "-u-", &alnum(rng, 64)]);
    add(Kind::FacebookToken, &["EA", "AC", &alnum(rng, 120)]);
    add(Kind::MapboxToken, &["sk", ".eyJ", &alnum(rng, 70), ".", &alnum(rng, 22)]);
    add(Kind::GitlabToken, &["glagent", "-", &alnum(rng, 50)]);
    add(Kind::AirtableToken, &["pat", &alnum(rng, 14), ".", &hex(rng, 64)]);
    add(Kind::TerraformToken, &[&alnum(rng, 14), ".atlasv1", ".", &alnum(rng, 67)]);
    add(Kind::MailchimpKey, &[&hex(rng, 32), "-us", "12"]);
    let uuid = |rng: &mut Rng| [8, 4, 4, 4, 12].map(|n| hex(rng, n)).join("-");
    add(Kind::HubSpotToken, &["pat-", "na1-", &uuid(rng)]);
    add(Kind::HubSpotToken, &["pat-", "eu1-", &uuid(rng)]);
    add(Kind::VercelToken, &["vercel_blob", "_rw_", &alnum(rng, 16), "_", &alnum(rng, 30)]);
    add(Kind::VercelToken, &["vc", "p_", &alnum(rng, 56)]);
    add(Kind::ApiKey, &["cs", "k-", &alnum(rng, 48).to_lowercase()]);
    add(Kind::ApiKey, &["fw", "_", &alnum(rng, 24)]);
    add(Kind::ApiKey, &["sk-", "lf-", &uuid(rng)]);
    add(Kind::AtlassianToken, &["ATCTT3", "xFfGN0", &alnum(rng, 170), "=1A2B3C4D"]);
    add(Kind::PrivateKey, &["LS0tLS1C", "RUdJTiBQUklWQVRFIEtFW", &alnum(rng, 200)]);
    add(Kind::JinaKey, &["jina", "_", &hex(rng, 32), &alnum(rng, 28)]);
    add(Kind::FirecrawlKey, &["fc", "-", &hex(rng, 32)]);
    add(Kind::AlibabaKey, &["LT", "AI", &alnum(rng, 20)]);
    add(Kind::TencentKey, &["AK", "ID", &alnum(rng, 32)]);
    add(Kind::PostHogKey, &["phx", "_", &alnum(rng, 43)]);
    add(Kind::CloudflareToken, &["cfut", "_", &alnum(rng, 48)]);
    add(Kind::CloudflareToken, &["cfk", "_", &alnum(rng, 48)]);
    add(Kind::ResendKey, &["re", "_", &alnum(rng, 8), "_", &alnum(rng, 24)]);
    let group = |rng: &mut Rng, n: usize| upper(rng, n);
    let of_five = |rng: &mut Rng| [(); 4].map(|()| group(rng, 5)).join("-");
    add(Kind::OnePasswordKey, &["A3", "-7Q", &upper(rng, 4), "-", &upper(rng, 6), "-", &of_five(rng)]);
    add(
        Kind::OnePasswordKey,
        &["A3", "-7Q", &upper(rng, 4), "-", &upper(rng, 11), "-", &[(); 3].map(|()| group(rng, 5)).join("-")],
    );
    all
}
