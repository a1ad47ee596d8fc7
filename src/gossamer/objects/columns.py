"""The columns that criterions may name: by table, with the field of the object and the kind.

The names are those of the document's tables; what stands behind them is the catalog's business.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gossamer.objects.expressions import Kind


class ColumnForm(Struct, frozen=True):
    """What a column holds."""

    attribute: str
    """The attribute of the object; empty if it has none."""
    kind: Kind


def _forms(texts: str, numbers: str, moments: str) -> dict[str, ColumnForm]:
    """Read pairs `Column:attribute`, in three groups by kind."""
    groups = ((texts, Kind.TEXT), (numbers, Kind.NUMBER), (moments, Kind.MOMENT))
    forms: dict[str, ColumnForm] = {}
    for group, kind in groups:
        for pair in group.split():
            column, _, attribute = pair.partition(":")
            forms[column] = ColumnForm(attribute, kind)
    return forms


SITE_COLUMNS: Final = _forms(
    "Id:id Description:description",
    """Resources:resources Contents:contents CollectedURLs:collected_urls NewURLs:new_urls
    DeletedURLs:deleted_urls Iterations:iterations State:state Priority:priority MaxURLs:max_urls
    MaxResources:max_resources MaxErrors:max_errors MaxResourceSize:max_resource_size
    MaxURLsFromPage:max_urls_from_page RequestDelay:request_delay
    ProcessingDelay:processing_delay HTTPTimeout:http_timeout ErrorMask:error_mask Errors:errors
    Size:size AVGSpeed:avg_speed AVGSpeedCounter:avg_speed_counter URLType:url_type
    User_Id:user_id Category_Id:category_id RecrawlPeriod:recrawl_period FetchType:fetch_type""",
    """CDate:c_date UDate:u_date TcDate:tc_date TcDateProcess:tc_date_process
    RecrawlDate:recrawl_date""",
)
URL_COLUMNS: Final = _forms(
    """Site_Id:site_id URL:url URLMd5:url_md5 ContentType:content_type Charset:charset
    HTTPMethod:http_method RawContentMd5:raw_content_md5 ParentMd5:parent_md5
    ContentURLMd5:content_url_md5 ETag:e_tag""",
    """Type:type State:state Status:status Crawled:crawled Processed:processed
    RequestDelay:request_delay ProcessingDelay:processing_delay HTTPTimeout:http_timeout
    Batch_Id:batch_id ErrorMask:error_mask CrawlingTime:crawling_time
    ProcessingTime:processing_time TotalTime:total_time HTTPCode:http_code Size:size
    LinksI:links_i LinksE:links_e Freq:freq Depth:depth MRate:m_rate MRateCounter:m_rate_counter
    MaxURLsFromPage:max_urls_from_page TagsMask:tags_mask TagsCount:tags_count Priority:priority
    ClassifierMask:classifier_mask""",
    "LastModified:last_modified UDate:u_date CDate:c_date TcDate:tc_date PDate:p_date",
)
PROPERTY_COLUMNS: Final = _forms(
    "Site_Id:site_id URLMd5:url_md5 Name:name Value:value", "", "UDate:u_date CDate:c_date"
)
FILTER_COLUMNS: Final = _forms(
    "Site_Id:site_id Pattern:pattern Subject:subject",
    """OperationCode:op_code Stage:stage Action:action Type:type Mode:mode State:state
    Group_Id:group_id""",
    "UDate:u_date CDate:c_date",
)
ATTRIBUTE_COLUMNS: Final = _forms(
    "Site_Id:site_id Name:name URLMd5:url_md5 Value:value", "", "CDate:c_date"
)
PROXY_COLUMNS: Final = _forms(
    """Site_Id:site_id Host:host CountryCode:country_code CountryName:country_name
    RegionCode:region_code RegionName:region_name CityName:city_name ZipCode:zip_code
    TimeZone:time_zone MetroCode:metro_code Description:description""",
    """Id:id Priority:priority State:state Latitude:latitude Longitude:longitude Faults:faults
    FaultsMax:faults_max Category_Id:category_id""",
    "CDate:c_date UDate:u_date",
)
# Without objects of their own: rows of the history and of the counters of URLs.
LOG_COLUMNS: Final = _forms("URLMd5 Object", "OpCode", "CDate ODate")
STATS_COLUMNS: Final = _forms(
    "URLMd5", "FIns FDel FUpd FNew FCrawled FProcessed FAged FDeleted FPurged", "CDate MDate"
)


def by_lower_name(forms: Mapping[str, ColumnForm]) -> dict[str, ColumnForm]:
    """Return columns by their names as parsed criterions have them."""
    return {name.lower(): form for name, form in forms.items()}
